import { setTimeout as sleep } from 'node:timers/promises';
import { content, defineTool, ToolcribError } from 'toolcrib';
import type { Tool, ToolRegistry } from 'toolcrib';

/** A picture of one red pixel. */
export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

/** Tools that answer on their own. The suite calls the first listed tool without arguments. */
export const plainTools: readonly Tool[] = [
  defineTool({ name: 'test_simple_text', description: 'Answers with text.' }, () =>
    content.text('This is a simple text response for testing.'),
  ),
  defineTool({ name: 'test_image_content', description: 'Answers with a picture.' }, () =>
    content.image(pixel, 'image/png'),
  ),
  defineTool({ name: 'test_audio_content', description: 'Answers with a sound.' }, () =>
    content.audio(silence, 'audio/wav'),
  ),
  defineTool({ name: 'test_embedded_resource', description: 'Answers with a resource.' }, () =>
    content.resource({
      uri: 'test://embedded-resource',
      mimeType: 'text/plain',
      text: 'This is an embedded resource content.',
    }),
  ),
  defineTool({ name: 'test_multiple_content_types', description: 'Answers with several kinds.' }, () => [
    content.text('Multiple content types test:'),
    content.image(pixel, 'image/png'),
    content.resource({
      uri: 'test://mixed-content-resource',
      mimeType: 'application/json',
      text: '{"test":"data","value":123}',
    }),
  ]),
  defineTool({ name: 'test_error_handling', description: 'Always fails.' }, () => {
    throw new ToolcribError('tool_failed', 'This tool intentionally returns an error for testing');
  }),
  defineTool(
    { name: 'test_tool_with_progress', description: 'Reports progress three times.' },
    async (_args, { progress, signal }) => {
      progress(0, 100);
      await sleep(50, undefined, { signal });
      progress(50, 100);
      await sleep(50, undefined, { signal });
      progress(100, 100);
      return content.text('Tool with progress executed successfully');
    },
  ),
  defineTool(
    { name: 'test_tool_with_logging', description: 'Logs three times.' },
    async (_args, { log, signal }) => {
      log('info', 'Tool execution started');
      await sleep(50, undefined, { signal });
      log('info', 'Tool processing data');
      await sleep(50, undefined, { signal });
      log('info', 'Tool execution completed');
      return content.text('Tool with logging executed successfully');
    },
  ),
  defineTool(
    { name: 'test_logging_tool', description: 'Logs to a client that asked for no log.' },
    (_args, { log }) => {
      log('info', 'Nobody asked for this');
      return content.text('Logging tool executed successfully');
    },
  ),
  defineTool(
    { name: 'test_reconnection', description: 'Closes its stream; the client comes back for the result.' },
    async (_args, { closeStream, signal }) => {
      closeStream();
      await sleep(100, undefined, { signal });
      return content.text('Reconnection test completed successfully.');
    },
  ),
  defineTool(
    {
      name: 'test_x_mcp_header',
      description: 'Takes an argument that is repeated in a header.',
      input: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
        required: ['region'],
      },
    },
    ({ region }) => content.text(`Region: ${region}`),
  ),
  defineTool(
    {
      name: 'json_schema_2020_12_tool',
      description: 'Has an input schema full of JSON Schema 2020-12.',
      input: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: {
          address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } },
          },
        },
        properties: {
          name: { type: 'string' },
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          phone: { type: 'string' },
          email: { type: 'string' },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      },
    },
    (args) => content.text(`JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`),
  ),
];

/** Tools that change what their own registry lists, back and forth. */
export function triggersFor(registry: ToolRegistry, togglePrompt: () => void): readonly Tool[] {
  const passing = defineTool(
    { name: 'test_passing_tool', description: 'Comes and goes.' },
    () => 'Still here.',
  );
  return [
    defineTool({ name: 'test_trigger_tool_change', description: 'Changes the list of tools.' }, () => {
      if (!registry.remove(passing.name)) registry.registerTool(passing);
      return content.text('Tool list changed.');
    }),
    defineTool({ name: 'test_trigger_prompt_change', description: 'Changes the list of prompts.' }, () => {
      togglePrompt();
      return content.text('Prompt list changed.');
    }),
  ];
}
