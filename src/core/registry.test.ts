import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AbstractTool } from './authoring/abstract-tool.ts';
import type { ToolCall } from './call.ts';
import { localCaller } from './caller.ts';
import type { ToolContext } from './context.ts';
import { ToolcribError } from '../base/errors.ts';
import { definePrompt } from './prompts/prompt.ts';
import { ToolRegistry } from './registry.ts';
import { defineResource, defineResourceTemplate } from './resources/resource.ts';
import type { Result } from './result.ts';
import type { Change } from './source.ts';
import { defineTool, type Tool } from './tool.ts';
import { createTestCall } from '../testing.ts';

const echo = toolCalled('echo');

class Greeter extends AbstractTool<{ name: string }> {
  execute({ name }: { name: string }): string {
    return `Hello, ${name}!`;
  }
}

test('a registry starts empty, and tools can be added, found and removed (001-37)', () => {
  const registry = new ToolRegistry();
  expect(registry.list()).toEqual([]);
  registry.registerTool(echo);
  expect(registry.list()).toEqual([echo]);
  expect(registry.find('echo')).toBe(echo);
  expect(registry.remove('echo')).toBe(true);
  expect(registry.remove('echo')).toBe(false);
  expect(registry.list()).toEqual([]);
});

test('a function is registered under a name, with a schema (001-38)', async () => {
  const registry = new ToolRegistry().register('add', ({ a, b }) => a + b, {
    description: 'Adds two numbers.',
    inputSchema: { properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  });
  expect(await registry.execute('add', { a: 1, b: 2 })).toBe(3);
});

test('a function is registered with description, input schema and annotations in one argument (001-18)', () => {
  const registry = new ToolRegistry().register('get_time', (_params, context) => context.tenant.name, {
    description: 'Tells the time.',
    inputSchema: { properties: { timezone: { type: 'string', default: 'UTC' } } },
    annotations: { readOnlyHint: true },
  });
  expect(registry.getToolsList().tools).toEqual([
    {
      name: 'get_time',
      description: 'Tells the time.',
      inputSchema: { type: 'object', properties: { timezone: { type: 'string', default: 'UTC' } } },
      annotations: { readOnlyHint: true },
    },
  ]);
});

test('a function may be registered with Zod schemas, a title and an output schema', async () => {
  const registry = new ToolRegistry().register('trim', ({ text }) => ({ text }), {
    description: 'Trims a text.',
    title: 'Trim',
    inputSchema: z.object({ text: z.string().trim() }),
    outputSchema: z.object({ text: z.string() }),
  });
  expect(await registry.execute('trim', { text: ' a ' })).toEqual({ text: 'a' });
  expect(registry.find('trim')).toMatchObject({ title: 'Trim', outputSchema: { required: ['text'] } });
});

test('an instance of a tool class is registered (001-39)', async () => {
  const registry = new ToolRegistry().registerTool(
    new Greeter('greet', 'Greets.', { properties: { name: { type: 'string' } }, required: ['name'] }),
  );
  expect(await registry.execute('greet', { name: 'Ada' })).toBe('Hello, Ada!');
});

test('hasTool says whether a tool can be called (001-40)', () => {
  const registry = new ToolRegistry().registerTool(echo);
  expect(registry.hasTool('echo')).toBe(true);
  expect(registry.hasTool('missing')).toBe(false);
  registry.disable('echo');
  expect(registry.hasTool('echo')).toBe(false);
});

test('execute returns the plain result of the handler (001-41)', async () => {
  const result = { rows: [{ id: 1 }] };
  const registry = new ToolRegistry().register('query', () => result);
  expect(await registry.execute('query')).toBe(result);
});

test('execute refuses the name of an unknown tool (001-41)', async () => {
  await expect(new ToolRegistry().execute('missing', {})).rejects.toMatchObject({
    code: 'unknown_tool',
    message: 'Unknown tool: missing',
    data: { reason: 'tool_not_found' },
  });
});

test('a tool can be tried out through the registry, without a server (001-73)', async () => {
  const registry = new ToolRegistry();
  registry.register('echo', ({ message }) => ({ message }));
  expect(await registry.execute('echo', { message: 'test' })).toEqual({ message: 'test' });
});

test('getToolsList gives what tools/list needs, in the order of names (001-42)', () => {
  const registry = new ToolRegistry().registerTool(toolCalled('b'), toolCalled('a'));
  expect(registry.getToolsList()).toEqual({
    tools: [
      { name: 'a', description: 'Does a.', inputSchema: { type: 'object', properties: {} } },
      { name: 'b', description: 'Does b.', inputSchema: { type: 'object', properties: {} } },
    ],
  });
});

test('getToolNames gives the names of both kinds in the order they were registered (001-43)', () => {
  const registry = new ToolRegistry()
    .registerTool(toolCalled('b'))
    .register('c', () => 1)
    .registerTool(toolCalled('a'));
  expect(registry.getToolNames()).toEqual(['b', 'c', 'a']);
});

test('a function may be registered without a schema and accepts any object (001-44)', async () => {
  const registry = new ToolRegistry().register('anything', (params) => params);
  expect(await registry.execute('anything', { any: ['thing'] })).toEqual({ any: ['thing'] });
  expect(registry.getToolsList().tools).toEqual([
    {
      name: 'anything',
      description: '',
      inputSchema: { type: 'object', properties: {}, additionalProperties: true },
    },
  ]);
});

test('parameters are checked against the whole schema before the handler runs (001-04)', async () => {
  const seen: unknown[] = [];
  const registry = new ToolRegistry().register('list_pages', (params) => seen.push(params), {
    description: 'Lists pages.',
    inputSchema: { properties: { limit: { type: 'integer', minimum: 1, maximum: 100 } } },
  });
  await expect(registry.execute('list_pages', { limit: 0 })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: 'Invalid arguments for list_pages: limit: must be >= 1',
  });
  expect(seen).toEqual([]);
});

test('defaults are filled into a copy: the arguments of the caller stay unchanged', async () => {
  const registry = new ToolRegistry().register('list_pages', (params) => params, {
    description: 'Lists pages.',
    inputSchema: { properties: { limit: { default: 10 } } },
  });
  const mine = {};
  expect(await registry.execute('list_pages', mine)).toEqual({ limit: 10 });
  expect(mine).toEqual({});
});

test('the handler gets its parameters and a context (001-05)', async () => {
  const registry = new ToolRegistry().register('who', (params, { caller, tenant, client, meta, signal }) => ({
    params,
    caller: caller.id,
    tenant: tenant.id,
    client: client.name,
    meta,
    aborted: signal.aborted,
  }));
  expect(await registry.execute('who', { a: 1 })).toEqual({
    params: { a: 1 },
    caller: 'local',
    tenant: 'local',
    client: undefined,
    meta: {},
    aborted: false,
  });
});

test('execute passes the given context on to the handler (001-05)', async () => {
  const registry = new ToolRegistry().register('who', (_params, context) => ({ ...pick(context) }));
  const caller = { ...localCaller, id: 'ada' };
  const client = { name: 'cli', version: '1', protocolVersion: undefined, capabilities: {} };
  const meta = { trace: 'x' };
  expect(await registry.execute('who', {}, { caller, client, meta })).toEqual({
    caller,
    tenant: caller.tenant,
    client,
    meta,
  });
});

test('the tenant given to execute is the tenant that the handler sees (001-05)', async () => {
  const tenant = { id: 'acme', name: 'Acme', data: { plan: 'gold' } };
  const registry = new ToolRegistry().register('who', (_params, context) => context.tenant);
  expect(await registry.execute('who', {}, { tenant })).toEqual(tenant);
});

test('progress is reported to the function given to execute (001-05)', async () => {
  const reports: unknown[] = [];
  const registry = new ToolRegistry().register('work', (_params, { progress }) => progress(1, 2, 'half'));
  await registry.execute('work', {}, { progress: (...report) => reports.push(report) });
  expect(reports).toEqual([[1, 2, 'half']]);
});

test('a signal given to execute stops the handler, and has no listeners left afterwards', async () => {
  const controller = new AbortController();
  const registry = new ToolRegistry().register('wait', (_params, { signal }) => {
    controller.abort(new Error('enough'));
    return (signal.reason as Error).message;
  });
  expect(await registry.execute('wait', {}, { signal: controller.signal })).toBe('enough');
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

test('a signal that was aborted before execute is aborted for the handler too', async () => {
  const registry = new ToolRegistry().register('peek', (_params, { signal }) => signal.aborted);
  expect(await registry.execute('peek', {}, { signal: AbortSignal.abort(new Error('late')) })).toBe(true);
});

test('a name may have 64 characters and not one more (000-05)', () => {
  const registry = new ToolRegistry().registerTool(toolCalled('n'.repeat(64)));
  expect(registry.getToolNames()).toHaveLength(1);
  expect(() => registry.registerTool(toolCalled('n'.repeat(65)))).toThrow(
    expect.objectContaining({
      code: 'invalid_tool',
      message: expect.stringContaining('has 65 characters; the limit is 64'),
    }),
  );
});

test('the limit may be raised to the 128 characters that the protocol allows (000-05)', () => {
  const registry = new ToolRegistry({ maxNameLength: 128 }).registerTool(toolCalled('n'.repeat(128)));
  expect(registry.getToolNames()).toHaveLength(1);
  expect(() => registry.registerTool(toolCalled('n'.repeat(129)))).toThrow('the limit is 128');
});

test('a name is unique: a second tool of that name is refused (000-05)', () => {
  const registry = new ToolRegistry().registerTool(echo);
  const complaint = 'A tool named "echo" is registered already; rename it or use replace().';
  expect(() => registry.registerTool(toolCalled('echo'))).toThrow(complaint);
  expect(() => registry.register('echo', () => 1)).toThrow(complaint);
  expect(registry.find('echo')).toBe(echo);
});

test('replace exchanges a tool for another of the same name', () => {
  const other = toolCalled('echo');
  const registry = new ToolRegistry().registerTool(echo, toolCalled('later')).replace(other);
  expect(registry.find('echo')).toBe(other);
  expect(registry.getToolNames()).toEqual(['echo', 'later']);
});

test.each(['', '  ', undefined])('a tool with the description %j is refused (000-06)', (description) => {
  const mute = { ...echo, description } as Tool;
  const complaint = 'Tool "echo": needs a description that tells the model what it does, returns and is for.';
  expect(() => new ToolRegistry().registerTool(mute)).toThrow(complaint);
  expect(() => new ToolRegistry().replace(mute)).toThrow(complaint);
  expect(() => new ToolRegistry().register('echo', () => 1, { description } as never)).toThrow(complaint);
});

test.each<[problem: string, tool: object, says: string]>([
  ['a root that is not an object', { inputSchema: { type: 'array' } }, 'must have type "object" at its root'],
  [
    'a broken input schema',
    { inputSchema: { type: 'object', required: 'x' } },
    'input.required must be a list',
  ],
  ['a broken output schema', { outputSchema: { type: 'text' } }, 'output.type must be one of string'],
  ['a mirrored field that is no header', mirroring('no header'), 'x-mcp-header at id must be a header name'],
])('a hand-made tool with %s is refused with its name', (_problem, part, says) => {
  const tool = { ...echo, ...part } as Tool;
  expect(() => new ToolRegistry().registerTool(tool)).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(`Tool "echo": `) }),
  );
  expect(() => new ToolRegistry().registerTool(tool)).toThrow(says);
});

test.each([
  ['readOnlyHint', true],
  ['destructiveHint', false],
  ['idempotentHint', true],
  ['openWorldHint', false],
])('with the saas defaults a missing %s is listed as %s (001-45, 001-46, 001-47, 001-48)', (hint, value) => {
  const registry = new ToolRegistry({ annotationDefaults: 'saas' }).registerTool(echo);
  expect(registry.getToolsList().tools[0]?.annotations).toHaveProperty(hint, value);
  expect(new ToolRegistry().registerTool(echo).getToolsList().tools[0]).not.toHaveProperty('annotations');
});

test('annotations are set per function and win over the defaults (001-49)', () => {
  const registry = new ToolRegistry({ annotationDefaults: 'saas' }).register('delete_file', () => 'gone', {
    description: 'Deletes a file.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  });
  expect(registry.getToolsList().tools[0]?.annotations).toEqual({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: false,
  });
});

test('with the saas defaults a tool still runs with its own checks', async () => {
  const input = z.object({ text: z.string().trim() });
  const trim = defineTool({ name: 'trim', description: 'Trims.', input }, ({ text }) => text);
  const registry = new ToolRegistry({ annotationDefaults: 'saas' }).registerTool(
    trim,
    new Greeter('greet', 'Greets.'),
  );
  expect(await registry.execute('trim', { text: ' a ' })).toBe('a');
  expect(await registry.execute('greet', { name: 'Ada' })).toBe('Hello, Ada!');
});

test('a disabled tool is neither listed nor callable until it is enabled again', async () => {
  const registry = new ToolRegistry().registerTool(echo, toolCalled('other'));
  registry.disable('echo');
  expect(registry.getToolNames()).toEqual(['other']);
  expect(registry.list().map(({ name }) => name)).toEqual(['other']);
  expect(registry.find('echo')).toBeUndefined();
  await expect(registry.execute('echo')).rejects.toMatchObject({ code: 'unknown_tool' });
  registry.enable('echo');
  expect(registry.getToolNames()).toEqual(['echo', 'other']);
});

test('an unknown tool can be neither disabled nor enabled', () => {
  const registry = new ToolRegistry();
  expect(() => registry.disable('missing')).toThrow('Unknown tool: missing');
  expect(() => registry.enable('missing')).toThrow('Unknown tool: missing');
});

test('a tool that was disabled, removed and registered again is callable', () => {
  const registry = new ToolRegistry().registerTool(echo);
  registry.disable('echo');
  registry.remove('echo');
  registry.registerTool(echo);
  expect(registry.hasTool('echo')).toBe(true);
});

test('the list is the same frozen array until something changes', () => {
  const registry = new ToolRegistry().registerTool(echo);
  const before = registry.list();
  expect(registry.list()).toBe(before);
  expect(Object.isFrozen(before)).toBe(true);
  registry.registerTool(toolCalled('other'));
  expect(registry.list()).not.toBe(before);
  expect(before).toEqual([echo]);
});

test('changes of one turn are announced together', async () => {
  const registry = new ToolRegistry().registerTool(echo, toolCalled('old'));
  const changes = await changesOf(registry, () => {
    registry.registerTool(toolCalled('new'));
    registry.remove('old');
    registry.replace(toolCalled('echo'));
  });
  expect(changes).toEqual([{ kind: 'tools', added: ['new'], removed: ['old'], modified: ['echo'] }]);
});

test('changes of different turns are announced separately', async () => {
  const registry = new ToolRegistry();
  const first = await changesOf(registry, () => registry.registerTool(echo));
  const second = await changesOf(registry, () => registry.remove('echo'));
  expect([...first, ...second]).toEqual([
    { kind: 'tools', added: ['echo'], removed: [], modified: [] },
    { kind: 'tools', added: [], removed: ['echo'], modified: [] },
  ]);
});

test('disabling is announced as a removal and enabling as an addition', async () => {
  const registry = new ToolRegistry().registerTool(echo);
  const gone = await changesOf(registry, () => registry.disable('echo'));
  const back = await changesOf(registry, () => registry.enable('echo'));
  expect([...gone, ...back]).toEqual([
    { kind: 'tools', added: [], removed: ['echo'], modified: [] },
    { kind: 'tools', added: ['echo'], removed: [], modified: [] },
  ]);
});

test.each<[what: string, change: (registry: ToolRegistry) => void]>([
  ['adding and removing', (registry) => registry.registerTool(toolCalled('brief')).remove('brief')],
  ['removing and adding again', (registry) => void (registry.remove('echo') && registry.registerTool(echo))],
  ['replacing a tool with itself', (registry) => registry.replace(echo)],
  ['disabling and enabling', (registry) => (registry.disable('echo'), registry.enable('echo'))],
  ['enabling what is enabled', (registry) => registry.enable('echo')],
  [
    'replacing what is disabled',
    (registry) => (registry.disable('off'), registry.replace(toolCalled('off'))),
  ],
])('%s in one turn announces nothing', async (_what, change) => {
  const registry = new ToolRegistry().registerTool(echo, toolCalled('off'));
  registry.disable('off');
  expect(await changesOf(registry, () => change(registry))).toEqual([]);
});

test('a watcher that stopped is not notified', async () => {
  const registry = new ToolRegistry();
  const seen: Change[] = [];
  registry.watch((change) => seen.push(change))();
  await changesOf(registry, () => registry.registerTool(echo));
  expect(seen).toEqual([]);
});

test('as a source the registry runs the handler and reports how the call ended', async () => {
  expect(await run(echo, { a: 1 })).toEqual({ kind: 'done', data: { a: 1 } });
});

test('an exception of a handler becomes a result that reveals nothing, with an incident id for the log', async () => {
  const cause = new Error('connect ECONNREFUSED 10.0.0.7:5432');
  const broken = toolCalled('broken', () => {
    throw cause;
  });
  await expect(run(broken)).rejects.toMatchObject({
    code: 'tool_failed',
    message: expect.stringMatching(/^broken failed unexpectedly \(incident [0-9a-f]{8}\)\.$/),
    incident: expect.stringMatching(/^[0-9a-f]{8}$/),
    cause,
  });
});

test('an error that was written for the caller is returned unchanged', async () => {
  const refusal = new ToolcribError('tool_failed', 'The page is locked.');
  const locked = toolCalled('locked', () => {
    throw refusal;
  });
  await expect(run(locked)).rejects.toBe(refusal);
});

test('a handler that fails asynchronously is answered in the same way', async () => {
  const broken = toolCalled('broken', () => Promise.reject(new Error('connect ECONNREFUSED')));
  await expect(run(broken)).rejects.toMatchObject({
    code: 'tool_failed',
    message: expect.stringContaining('broken failed unexpectedly (incident '),
  });
});

test('C3 authors must give a description', () => {
  const nameless = { ...toolCalled('a'), description: ' ' };
  expect(() => new ToolRegistry().registerTool(nameless)).toThrow('needs a description');
  expect(() => new ToolRegistry().register('a', () => 1, { description: '' })).toThrow('needs a description');
});

test('C4 missing hints are left out, or listed with the saas defaults if the registry is set so', () => {
  const hinted = { ...toolCalled('a'), annotations: { openWorldHint: true, audience: ['user'] } };
  expect(new ToolRegistry().registerTool(hinted).list()[0]?.annotations).toEqual(hinted.annotations);
  expect(
    new ToolRegistry({ annotationDefaults: 'saas' }).registerTool(hinted).list()[0]?.annotations,
  ).toEqual({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: true,
    audience: ['user'],
  });
});

test('C9 a name has at most 64 characters, or 128 if the registry allows it, from a set that all clients accept', () => {
  const register = (name: string, options = {}): ToolRegistry =>
    new ToolRegistry(options).registerTool(toolCalled(name));
  expect(() => register('a'.repeat(64))).not.toThrow();
  expect(() => register('a'.repeat(65))).toThrow('the limit is 64');
  expect(() => register('a'.repeat(128), { maxNameLength: 128 })).not.toThrow();
  expect(() => register('Az0_-.')).not.toThrow();
  for (const name of ['a/b', 'a b', 'é', 'a\n', '']) expect(() => register(name)).toThrow(ToolcribError);
});

test('execute runs cleanup functions before it returns, also after a failure', async () => {
  const ran: string[] = [];
  const registry = new ToolRegistry()
    .register('work', (_params, { onCleanup }) => {
      onCleanup(() => ran.push('first'));
      onCleanup(() => ran.push('second'));
    })
    .register('break', (_params, { onCleanup }) => {
      onCleanup(() => ran.push('third'));
      throw new Error('broken');
    });
  await registry.execute('work');
  await expect(registry.execute('break')).rejects.toThrow('broken');
  expect(ran).toEqual(['second', 'first', 'third']);
});

test('a registry without resources and prompts declares none', () => {
  const registry = new ToolRegistry();
  expect([registry.resources, registry.prompts]).toEqual([undefined, undefined]);
  expect([registry.removeResource('x:a'), registry.removePrompt('a')]).toEqual([false, false]);
});

test('resources, templates and prompts are registered beside tools', () => {
  const registry = new ToolRegistry().registerTool(echo).registerResource(note, notes).registerPrompt(review);
  expect(registry.resources?.list()).toEqual([note]);
  expect(registry.resources?.templates()).toEqual([notes]);
  expect(registry.prompts?.list()).toEqual([review]);
  expect(registry.getToolNames()).toEqual(['echo']);
  expect(registry.removeResource('note://{id}')).toBe(true);
  expect(registry.removePrompt('review')).toBe(true);
  expect([registry.resources?.size, registry.prompts?.size]).toEqual([1, 0]);
});

test('changes of resources and prompts are announced once a turn, and new content at once', async () => {
  const registry = new ToolRegistry();
  const changes = await changesOf(registry, () => {
    registry.registerPrompt(review).registerResource(note, notes);
    registry.removeResource('note://inbox');
  });
  expect(changes).toEqual([{ kind: 'prompts' }, { kind: 'resources' }]);
  const told: Change[] = [];
  registry.watch((change) => told.push(change));
  registry.resourceUpdated('note://inbox');
  expect(told).toEqual([{ kind: 'resource', uri: 'note://inbox' }]);
});

test('as a source the registry reads resources and fills in prompts', async () => {
  const registry = new ToolRegistry().registerResource(note).registerPrompt(review);
  const base = callOf(echo, {});
  expect(
    await registry.call({ ...base, kind: 'resource', resource: note, uri: 'note://inbox', variables: {} }),
  ).toMatchObject({ data: { contents: [{ text: 'Empty.' }] } });
  expect(await registry.call({ ...base, kind: 'prompt', prompt: review, arguments: {} })).toMatchObject({
    data: { messages: [{ content: { text: 'Look.' } }] },
  });
});

const note = defineResource({ uri: 'note://inbox', name: 'inbox' }, () => 'Empty.');
const notes = defineResourceTemplate({ uriTemplate: 'note://{id}', name: 'notes' }, ({ id }) => id);
const review = definePrompt({ name: 'review' }, () => 'Look.');

function toolCalled(name: string, handler: Tool['handler'] = (args) => args): Tool {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object', properties: {} }, handler };
}

function mirroring(header: string): Pick<Tool, 'inputSchema'> {
  return { inputSchema: { type: 'object', properties: { id: { type: 'string', 'x-mcp-header': header } } } };
}

function pick({ caller, tenant, client, meta }: ToolContext): Partial<ToolContext> {
  return { caller, tenant, client, meta };
}

/** Calls a tool as a server does, through the registry as a source. */
async function run(tool: Tool, args: ToolCall['arguments'] = {}): Promise<Result> {
  return new ToolRegistry().registerTool(tool).call(callOf(tool, args));
}

function callOf(tool: Tool, args: ToolCall['arguments']): ToolCall {
  return createTestCall(tool, { arguments: args });
}

/** What a watcher is told of the changes that `act` makes, once the turn is over. */
async function changesOf(registry: ToolRegistry, act: () => unknown): Promise<Change[]> {
  await Promise.resolve();
  const changes: Change[] = [];
  const stop = registry.watch((change) => changes.push(change));
  act();
  expect(changes).toEqual([]);
  await Promise.resolve();
  stop();
  return changes;
}
