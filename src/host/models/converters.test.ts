import type Anthropic from '@anthropic-ai/sdk';
import { generateText, stepCountIs, tool as aiTool, type ToolSet } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import type OpenAI from 'openai';
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { ToolRegistry } from '../../core/registry.ts';
import { failed, type Result } from '../../core/result.ts';
import type { Agent, AvailableTool } from '../agent.ts';
import { fromAiSdkTools, toAiSdkTools } from './ai-sdk.ts';
import { fromAnthropicToolUses, toAnthropicToolResult, toAnthropicTools } from './anthropic-tools.ts';
import { toModelSchema } from './model-schema.ts';
import {
  fromOpenAiToolCalls,
  toOpenAiCallOutput,
  toOpenAiResponsesTools,
  toOpenAiToolMessage,
  toOpenAiTools,
} from './openai-tools.ts';
import { scripted } from './scripted.ts';

const dotted: AvailableTool = {
  name: 'files.read',
  description: 'Reads.',
  inputSchema: {
    $schema: 'x',
    type: 'object',
    anyOf: [{ properties: { path: { type: 'string' } }, required: ['path'] }],
  },
  from: { source: 'files', name: 'read' },
  isTrusted: false,
};

test('tools are converted to the official types, and calls come back with their own names', () => {
  expectTypeOf(toOpenAiTools).returns.toExtend<OpenAI.Chat.ChatCompletionTool[]>();
  expectTypeOf(toOpenAiResponsesTools).returns.toExtend<OpenAI.Responses.Tool[]>();
  expectTypeOf(toAnthropicTools).returns.toExtend<Anthropic.Tool[]>();
  expectTypeOf(toOpenAiToolMessage).returns.toExtend<OpenAI.Chat.ChatCompletionToolMessageParam>();
  expectTypeOf(toOpenAiCallOutput).returns.toExtend<OpenAI.Responses.ResponseInputItem>();
  expectTypeOf(toAnthropicToolResult).returns.toExtend<Anthropic.ToolResultBlockParam>();
  const tools = [dotted, { ...dotted, name: 'files_read' }, { ...dotted, name: 'x'.repeat(80) }];
  const shown = toOpenAiTools(tools).map((tool) => tool.function.name);
  expect(new Set(shown).size).toBe(3);
  for (const name of shown) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(toAnthropicTools([dotted])).toEqual([
    {
      name: 'files_read',
      description: 'Reads.',
      input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  ]);
  const chat = [{ id: 'a', type: 'function', function: { name: shown[0]!, arguments: '{"path":"b"}' } }];
  const back = { id: 'a', name: 'files.read', arguments: { path: 'b' } };
  expect(fromOpenAiToolCalls(chat, tools)).toEqual([back]);
  const output = [
    { type: 'reasoning' },
    { type: 'function_call', call_id: 'a', name: shown[0]!, arguments: '{"path":"b"}' },
  ];
  expect(fromOpenAiToolCalls(output, tools)).toEqual([back]);
  const uses = [
    { type: 'text', text: 'x' },
    { type: 'tool_use', id: 'a', name: shown[0]!, input: { path: 'b' } },
  ];
  expect(fromAnthropicToolUses(uses, tools)).toEqual([back]);
});

test('schemas that APIs refuse at their root accept at least the same values after conversion', () => {
  const schema = {
    type: 'object',
    properties: { id: { type: 'string' } },
    required: ['id'],
    oneOf: [{ properties: { by: { const: 'a' }, a: {} }, required: ['by', 'a'] }, { $ref: '#/$defs/b' }],
    $defs: { b: { properties: { by: { const: 'b' } }, required: ['by'] } },
    additionalProperties: false,
  };
  expect(toModelSchema(schema)).toEqual({
    type: 'object',
    properties: { id: { type: 'string' }, by: { anyOf: [{ const: 'a' }, { const: 'b' }] }, a: {} },
    required: ['id', 'by'],
    $defs: schema.$defs,
  });
  expect(toModelSchema({ type: 'object' })).toEqual({ type: 'object', properties: {} });
});

function agentOf(result: Result, seen: unknown[]): Pick<Agent, 'availableTools' | 'call'> {
  return {
    availableTools: [dotted],
    call: (name, args, options) => {
      seen.push({ name, args, id: options?.id });
      return Promise.resolve(result);
    },
  };
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

test.each<[Result, string]>([
  [{ kind: 'done', content: [{ type: 'text', text: 'body' }] }, 'content'],
  [failed('No such file.'), 'error-text'],
])('the AI SDK can call our tools: %j', async (result, type) => {
  const seen: unknown[] = [];
  const model = new MockLanguageModelV3({
    doGenerate: [
      {
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'files_read', input: '{"path":"b"}' }],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: 'text', text: 'Read.' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });
  const tools = toAiSdkTools(agentOf(result, seen)) satisfies ToolSet;
  const { text } = await generateText({ model, tools, prompt: 'Read b.', stopWhen: stepCountIs(3) });
  expect(text).toBe('Read.');
  expect(seen).toEqual([{ name: 'files.read', args: { path: 'b' }, id: 'c1' }]);
  expect(model.doGenerateCalls[0]!.tools).toMatchObject([
    {
      name: 'files_read',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    },
  ]);
  const told = model.doGenerateCalls[1]!.prompt.at(-1);
  expect(told).toMatchObject({ role: 'tool', content: [{ output: { type } }] });
  expect(JSON.stringify(told)).toContain('from the server files');
});

test('tools of the AI SDK can be converted to ours', async () => {
  const registry = new ToolRegistry();
  const theirs = {
    double: aiTool({
      description: 'Doubles.',
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }) => ({ twice: n * 2 }),
    }),
  };
  for (const tool of await fromAiSdkTools(theirs)) registry.registerTool(tool);
  expect(await registry.execute('double', { n: 4 })).toEqual({ twice: 8 });
  await expect(registry.execute('double', { n: 'x' })).rejects.toMatchObject({ code: 'invalid_arguments' });
  await expect(fromAiSdkTools({ idle: { inputSchema: {} } })).rejects.toMatchObject({ code: 'invalid_tool' });
});

test('a scripted model follows its script and keeps its requests', async () => {
  const model = scripted([
    { toolCalls: [{ name: 'a', arguments: {} }] },
    ({ messages }) => `${messages.length} messages`,
  ]);
  const request = { instructions: 'x', messages: [], tools: [], parallel: true };
  const ends = [];
  for (let turn = 0; turn < 2; turn++)
    for await (const event of model.respond(request, { signal: new AbortController().signal }))
      if (event.type === 'end') ends.push(event);
  expect(ends).toMatchObject([
    { stopReason: 'tool_calls', message: { toolCalls: [{ id: 'call_1', name: 'a' }] } },
    { stopReason: 'finished', message: { text: '0 messages' } },
  ]);
  expect(model.requests).toHaveLength(2);
  const third = model.respond(request, { signal: new AbortController().signal });
  await expect(third[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'invalid_setup' });
});
