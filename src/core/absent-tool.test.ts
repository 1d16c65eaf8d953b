import { expect, test } from 'vitest';
import { absentPrompt, absentResource, absentTemplate, absentTool, unknownTool } from './absent-tool.ts';
import type { CompletionCall, PromptCall, Reading, ResourceCall, ToolCall } from './call.ts';
import { Deadlines } from '../base/deadlines.ts';
import type { ToolcribError } from '../base/errors.ts';
import { limitTime } from './essentials/limit-time.ts';
import { permit } from './essentials/permit.ts';
import { definePrompt } from './prompts/prompt.ts';
import { ToolRegistry } from './registry.ts';
import { defineResource } from './resources/resource.ts';
import { withStages, type Stage } from './stage.ts';
import { isDeclaredReadOnly, type Tool } from './tool.ts';
import { validateInput, validateOutput } from './essentials/validate.ts';
import { createFakeClock, createTestCall } from '../testing.ts';

const limits = { msFor: () => 1_000, deadlines: new Deadlines(createFakeClock()) };

test('a call of an unknown tool goes through all stages, and ends as unknown_tool', () => {
  const seen: string[] = [];
  const registry = new ToolRegistry();
  const staged = withStages(registry, [
    noting('first', seen),
    validateInput,
    permit(limits),
    validateOutput,
    limitTime(limits),
    noting('last', seen),
  ]);
  expect(() => staged.call(callOf(absentTool('delete_all'), { any: ['thing'] }))).toThrow(
    expect.objectContaining({
      code: 'unknown_tool',
      message: 'Unknown tool: delete_all',
      data: { reason: 'tool_not_found' },
    }) as Error,
  );
  expect(seen).toEqual(['first delete_all', 'last delete_all', 'last unknown_tool', 'first unknown_tool']);
});

test('a placeholder for an unknown tool never reaches the source, even when a tool of its name exists', () => {
  const ran: string[] = [];
  const registry = new ToolRegistry().register('secret', () => ran.push('secret'));
  expect(() => withStages(registry, []).call(callOf(absentTool('secret')))).toThrow('Unknown tool: secret');
  expect(ran).toEqual([]);
});

test('a placeholder that runs without stages gives the same error', () => {
  const registry = new ToolRegistry();
  expect(() => registry.call(callOf(absentTool('x')))).toThrow(unknownTool('x').message);
});

test('a placeholder for an unknown tool is read-only, has no permission check, and is the same for every name', () => {
  const tool = absentTool('x');
  expect(isDeclaredReadOnly(tool)).toBe(true);
  expect(tool.authorize).toBeUndefined();
  expect({ ...absentTool('x'), handler: undefined }).toEqual({ ...tool, handler: undefined });
});

test('each call of an unknown tool has a new placeholder, so nothing is stored for names that do not exist', () => {
  const wrapped: Tool[] = [];
  const staged = withStages(new ToolRegistry(), [
    { name: 'note', wrap: (tool, next) => (wrapped.push(tool), next) },
  ]);
  for (let made = 0; made < 2; made++) expect(() => staged.call(callOf(absentTool('x')))).toThrow();
  expect(wrapped[0]).not.toBe(wrapped[1]);
});

test('registry.execute gives the same error for a disabled tool as for an unknown one', async () => {
  const registry = new ToolRegistry().register('a', () => 'ok');
  registry.disable('a');
  const disabled = await registry.execute('a').catch((error: unknown) => error);
  const missing = await new ToolRegistry().execute('a').catch((error: unknown) => error);
  expect(disabled).toEqual(missing);
  expect(disabled).toMatchObject({ code: 'unknown_tool' });
});

type Refused = Pick<ToolcribError, 'code' | 'message' | 'data'>;

const readings: readonly [what: string, call: () => Reading, refusal: Refused][] = [
  [
    'resource',
    () => resourceCallOf('note://1'),
    { code: 'unknown_resource', message: 'Unknown resource: note://1', data: { uri: 'note://1' } },
  ],
  [
    'prompt',
    () => promptCallOf('greet'),
    { code: 'unknown_prompt', message: 'Unknown prompt: greet', data: { reason: 'prompt_not_found' } },
  ],
  [
    'prompt to complete',
    () => completionCallOf(absentPrompt('greet')),
    { code: 'unknown_prompt', message: 'Unknown prompt: greet', data: { reason: 'prompt_not_found' } },
  ],
  [
    'template to complete',
    () => completionCallOf(absentTemplate('note://{id}')),
    { code: 'unknown_resource', message: 'Unknown resource: note://{id}', data: { uri: 'note://{id}' } },
  ],
];

test.each(readings)(
  'an unknown %s goes through all stages of every layer, and ends as unknown',
  (_what, call, refusal) => {
    const seen: string[] = [];
    const inner = withStages(new ToolRegistry(), [limitTime(limits), notingReadings('last', seen)]);
    const staged = withStages(inner, [notingReadings('first', seen), validateInput]);
    expect(() => staged.call(call())).toThrow(expect.objectContaining(refusal) as Error);
    expect(seen).toEqual(['first', 'last', `last ${refusal.code}`, `first ${refusal.code}`]);
  },
);

test.each(readings)(
  'a placeholder for a %s never reaches the source, even when one of its name exists',
  async (_what, call, refusal) => {
    const read: string[] = [];
    const resource = defineResource({ uri: 'note://1', name: 'note' }, () => (read.push('note'), 'text'));
    const prompt = definePrompt({ name: 'greet' }, () => (read.push('greet'), 'Hello.'));
    const registry = new ToolRegistry().registerResource(resource).registerPrompt(prompt);
    for (const source of [withStages(registry, []), withStages(withStages(registry, []), [])])
      expect(() => source.call(call())).toThrow(expect.objectContaining(refusal) as Error);
    expect(read).toEqual([]);
    // Control: an existing one is read in the same way.
    const staged = withStages(registry, []);
    await staged.call({ ...resourceCallOf('note://1'), resource });
    await staged.call({ ...promptCallOf('greet'), prompt });
    expect(read).toEqual(['note', 'greet']);
  },
);

test.each(readings)(
  'a placeholder for a %s that runs without stages gives the same error',
  async (_what, call, refusal) => {
    const registry = new ToolRegistry();
    await expect((async () => registry.call(call()))()).rejects.toMatchObject(refusal);
  },
);

test('placeholders for resources and prompts reveal only what was asked for', () => {
  expect({ ...absentResource('note://1'), read: undefined }).toEqual({
    uri: 'note://1',
    name: '',
    read: undefined,
  });
  expect({ ...absentPrompt('greet'), get: undefined }).toEqual({
    name: 'greet',
    arguments: {},
    get: undefined,
  });
  expect(absentResource('note://1')).not.toBe(absentResource('note://1'));
});

function notingReadings(name: string, seen: string[]): Stage {
  return {
    name,
    wrapReading: (next) => (call) => {
      seen.push(name);
      try {
        return next(call);
      } catch (error) {
        seen.push(`${name} ${(error as { code: string }).code}`);
        throw error;
      }
    },
  };
}

function resourceCallOf(uri: string): ResourceCall {
  const { tool: _tool, arguments: _arguments, ...base } = callOf(absentTool(''));
  return { ...base, kind: 'resource', resource: absentResource(uri), uri, variables: {} };
}

function promptCallOf(name: string): PromptCall {
  const { tool: _tool, ...base } = callOf(absentTool(''));
  return { ...base, kind: 'prompt', prompt: absentPrompt(name), arguments: {} };
}

function completionCallOf(target: CompletionCall['target']): CompletionCall {
  const { tool: _tool, arguments: _arguments, ...base } = callOf(absentTool(''));
  return { ...base, kind: 'completion', target, argument: { name: 'id', value: '' }, chosen: {} };
}

function noting(name: string, seen: string[]): Stage {
  return {
    name,
    wrap: (tool, next) => (call) => {
      seen.push(`${name} ${tool.name}`);
      try {
        return next(call);
      } catch (error) {
        seen.push(`${name} ${(error as { code: string }).code}`);
        throw error;
      }
    },
  };
}

function callOf(tool: Tool, args: ToolCall['arguments'] = {}): ToolCall {
  return createTestCall(tool, { arguments: args });
}
