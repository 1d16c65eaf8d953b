import { expect, test } from 'vitest';
import { absentTool, unknownTool } from './absent-tool.ts';
import type { ToolCall } from './call.ts';
import { localCaller } from './caller.ts';
import { Cancellation } from './cancellation.ts';
import { Interview } from './interview.ts';
import { permit } from './permit.ts';
import { CallRecord } from './record.ts';
import { ToolRegistry } from './registry.ts';
import { withStages, type Stage } from './stage.ts';
import { isDeclaredReadOnly, type Tool } from './tool.ts';
import { validateInput, validateOutput } from './validate.ts';

test('an unknown name goes through the stages, first to last, and ends as unknown_tool', () => {
  const seen: string[] = [];
  const registry = new ToolRegistry();
  const staged = withStages(registry, [
    noting('first', seen),
    validateInput,
    permit,
    validateOutput,
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

test('a stand-in never reaches the source, even when a tool of its name is there', () => {
  const ran: string[] = [];
  const registry = new ToolRegistry().register('secret', () => ran.push('secret'));
  expect(() => withStages(registry, []).call(callOf(absentTool('secret')))).toThrow('Unknown tool: secret');
  expect(ran).toEqual([]);
});

test('run by itself, a stand-in says the same', () => {
  const registry = new ToolRegistry();
  expect(() => registry.call(callOf(absentTool('x')))).toThrow(unknownTool('x').message);
});

test('a stand-in asks for nothing, changes nothing and tells nothing apart', () => {
  const tool = absentTool('x');
  expect(isDeclaredReadOnly(tool)).toBe(true);
  expect(tool.authorize).toBeUndefined();
  expect({ ...absentTool('x'), handler: undefined }).toEqual({ ...tool, handler: undefined });
});

test('two stand-ins of one name are two: nothing is kept for a name that does not exist', () => {
  const wrapped: Tool[] = [];
  const staged = withStages(new ToolRegistry(), [
    { name: 'note', wrap: (tool, next) => (wrapped.push(tool), next) },
  ]);
  for (let made = 0; made < 2; made++) expect(() => staged.call(callOf(absentTool('x')))).toThrow();
  expect(wrapped[0]).not.toBe(wrapped[1]);
});

test('registry.execute answers for a tool that is disabled as for one that is not there', async () => {
  const registry = new ToolRegistry().register('a', () => 'ok');
  registry.disable('a');
  const disabled = await registry.execute('a').catch((error: unknown) => error);
  const missing = await new ToolRegistry().execute('a').catch((error: unknown) => error);
  expect(disabled).toEqual(missing);
  expect(disabled).toMatchObject({ code: 'unknown_tool' });
});

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
  return {
    kind: 'tool',
    tool,
    arguments: args,
    caller: localCaller,
    client: { name: undefined, version: undefined, protocolVersion: undefined, capabilities: {} },
    meta: {},
    cancellation: new Cancellation(),
    record: new CallRecord(),
    interview: new Interview(),
    voice: {},
  };
}
