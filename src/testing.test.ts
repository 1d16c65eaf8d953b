import { expect, test } from 'vitest';
import { content, createServer, localCaller, ToolRegistry } from './index.ts';
import { createFakeClock, createTestClient, recordingSource } from './testing.ts';

test.each(['2026-07-28', '2025-06-18'] as const)(
  'a test client uses revision %s and reads the result of a tool',
  async (protocolVersion) => {
    const source = new ToolRegistry().register('who', (params, { client }) => ({
      params,
      revision: client.protocolVersion,
    }));
    const client = createTestClient(createServer({ source }), { protocolVersion });
    const result = await client.callTool('who', { a: 1 });
    expect(result.structuredContent).toEqual({ params: { a: 1 }, revision: protocolVersion });
    expect(JSON.parse(result.text)).toEqual(result.structuredContent);
    expect(result.isError).toBe(false);
  },
);

test('a test client joins the text of all text blocks', async () => {
  const source = new ToolRegistry().register('mix', () => [
    content.text('Hello, '),
    content.image('iVBORw==', 'image/png'),
    content.text('Ada'),
  ]);
  const { text, content: blocks } = await createTestClient(createServer({ source })).callTool('mix');
  expect(text).toBe('Hello, Ada');
  expect(blocks).toHaveLength(3);
});

test('a test client gets a failure of a tool as a result', async () => {
  const source = new ToolRegistry().register('fail', () => ({ error: 'Not today' }));
  const result = await createTestClient(createServer({ source })).callTool('fail');
  expect(result.isError).toBe(true);
  expect(result.text).toContain('Not today');
});

test('a test client throws an error of the server with its code', async () => {
  const client = createTestClient(createServer({ source: new ToolRegistry() }));
  await expect(client.callTool('missing')).rejects.toMatchObject({
    code: -32602,
    message: 'Unknown tool: missing',
    data: { reason: 'tool_not_found' },
  });
});

test('a test client reads a list to its last page', async () => {
  const source = new ToolRegistry();
  for (const name of ['a', 'b', 'c']) source.register(name, () => name);
  const tools = await createTestClient(createServer({ source, pageSize: 1 })).listTools();
  expect(tools.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test('a test client calls as the caller it is given', async () => {
  const source = new ToolRegistry().register('who', (_params, { caller }) => caller.id);
  const client = createTestClient(createServer({ source }), { caller: { ...localCaller, id: 'ada' } });
  expect(await client.callTool('who')).toMatchObject({ text: 'ada' });
});

test('a test client receives progress', async () => {
  const source = new ToolRegistry().register('work', (_params, { progress }) => {
    progress(1, 2, 'half');
    progress(2, 2);
    return 'done';
  });
  const heard: unknown[] = [];
  await createTestClient(createServer({ source })).callTool(
    'work',
    {},
    { onProgress: (step) => heard.push(step) },
  );
  expect(heard).toMatchObject([
    { progress: 1, total: 2, message: 'half' },
    { progress: 2, total: 2 },
  ]);
});

test('a test client can cancel a call, which stops the handler', async () => {
  const controller = new AbortController();
  const stopped: boolean[] = [];
  const source = new ToolRegistry().register('wait', (_params, { signal }) => {
    signal.addEventListener('abort', () => stopped.push(true));
    controller.abort(new Error('enough'));
    return new Promise(() => {});
  });
  const client = createTestClient(createServer({ source }));
  await expect(client.callTool('wait', {}, { signal: controller.signal })).rejects.toThrow('was cancelled');
  expect(stopped).toEqual([true]);
});

test('a recording source answers calls and keeps them', async () => {
  const registry = new ToolRegistry().register('echo', (params) => params);
  const source = recordingSource({ ...registry.list()[0]!, description: 'Echoes.' });
  const client = createTestClient(createServer({ source }));
  await client.callTool('echo', { a: 1 });
  await client.callTool('echo', { a: 2 });
  expect(source.calls.map((call) => call.kind === 'tool' && call.arguments)).toEqual([{ a: 1 }, { a: 2 }]);
});

test('a fake clock stands still until it is moved', () => {
  const clock = createFakeClock();
  expect(clock.now()).toBe(Date.UTC(2026, 0, 1));
  clock.advance(1_500);
  expect(clock.now()).toBe(Date.UTC(2026, 0, 1) + 1_500);
  expect(createFakeClock(7).now()).toBe(7);
});

test('a fake clock runs tasks in the order of their times', () => {
  const clock = createFakeClock(0);
  const ran: [string, number][] = [];
  clock.after(300, () => ran.push(['third', clock.now()]));
  clock.after(100, () => {
    ran.push(['first', clock.now()]);
    clock.after(100, () => ran.push(['second', clock.now()]));
  });
  clock.after(400, () => ran.push(['never', clock.now()]));
  clock.advance(300);
  expect(ran).toEqual([
    ['first', 100],
    ['second', 200],
    ['third', 300],
  ]);
});

test('a task that was removed from a fake clock does not run', () => {
  const clock = createFakeClock();
  const ran: string[] = [];
  clock.after(100, () => ran.push('task'))();
  clock.advance(1_000);
  expect(ran).toEqual([]);
});
