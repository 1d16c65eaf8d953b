import { content, definePrompt } from 'toolcrib';
import type { ToolRegistry } from 'toolcrib';
import { pixel } from './fixture-tools.ts';

/** Prompts the suite lists, completes and gets. */
export const prompts = [
  definePrompt(
    { name: 'test_simple_prompt', description: 'A prompt without arguments.' },
    () => 'This is a simple prompt for testing.',
  ),
  definePrompt(
    {
      name: 'test_prompt_with_arguments',
      description: 'A prompt with two arguments.',
      arguments: {
        arg1: { description: 'First test argument', required: true, complete: () => ['test', 'testing'] },
        arg2: { description: 'Second test argument', required: true },
      },
    },
    ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  ),
  definePrompt(
    {
      name: 'test_prompt_with_embedded_resource',
      description: 'A prompt that carries a resource.',
      arguments: { resourceUri: { description: 'URI of the resource to embed', required: true } },
    },
    ({ resourceUri }) => [
      {
        role: 'user',
        content: content.resource({
          uri: resourceUri,
          mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        }),
      },
      { role: 'user', content: content.text('Please process the embedded resource above.') },
    ],
  ),
  definePrompt({ name: 'test_prompt_with_image', description: 'A prompt that carries a picture.' }, () => [
    { role: 'user', content: content.image(pixel, 'image/png') },
    { role: 'user', content: content.text('Please analyze the image above.') },
  ]),
  definePrompt(
    { name: 'test_input_required_result_prompt', description: 'A prompt that asks before it answers.' },
    async (_args, { elicit }) => {
      const answer = await elicit({
        key: 'user_context',
        message: 'What context should the prompt use?',
        schema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
      });
      return `Use this context: ${answer.action === 'accept' ? answer.content.context : 'none'}`;
    },
  ),
];

/** Adds a prompt, or takes it away again. */
export function togglePrompt(registry: ToolRegistry): void {
  const passing = definePrompt(
    { name: 'test_passing_prompt', description: 'Comes and goes.' },
    () => 'Hello.',
  );
  if (!registry.removePrompt(passing.name)) registry.registerPrompt(passing);
}
