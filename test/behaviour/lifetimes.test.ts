import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import {
  createServer,
  defineTool,
  localCaller,
  ToolRegistry,
  type Caller,
  type JsonRpcMessage,
  type ServerOptions,
} from '../../src/index.ts';
import { serveStdio } from '../../src/node.ts';
import { createFakeClock, createTestClient } from '../../src/testing.ts';

const quiet = (): void => {};
const clientInfo = { name: 'x', version: '1' };
const TASKS = { 'io.modelcontextprotocol/tasks': {} };

function serve(registry: ToolRegistry, options: Partial<ServerOptions> = {}) {
  return createServer({ source: registry, log: quiet, ...options });
}

// Requests of a client that can follow tasks.
function taskClient(registry: ToolRegistry, options: Partial<ServerOptions> = {}) {
  const client = createTestClient(serve(registry, options));
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: TASKS, elicitation: {} } };
  return (method: string, params: object = {}) => client.request(method, { ...params, _meta });
}

async function settledTask(
  request: ReturnType<typeof taskClient>,
  taskId: unknown,
): Promise<Record<string, unknown>> {
  for (;;) {
    const task = await request('tasks/get', { taskId });
    if (task['status'] !== 'working') return task;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a default value that the client left out does not invalidate the second round of a call', async () => {
  const registry = new ToolRegistry().registerTool(
    defineTool(
      {
        name: 'plan',
        description: 'Plans.',
        input: { properties: { days: { type: 'integer', default: 3 } } },
      },
      async ({ days }, { elicit }) => {
        const { action } = await elicit({ message: 'Sure?', schema: { properties: {} } });
        return `${days} ${action}`;
      },
    ),
  );
  const client = createTestClient(serve(registry), { answer: () => ({ action: 'accept', content: {} }) });
  expect((await client.callTool('plan')).text).toBe('3 accept');
});

test('answers too long for the request state end the call with an error that says so', async () => {
  const registry = new ToolRegistry().registerTool(
    defineTool({ name: 'long', description: 'Asks twice.' }, async (_args, { sample }) => {
      await sample({ messages: [], maxTokens: 10 });
      await sample({ messages: [], maxTokens: 10 });
    }),
  );
  const answer = () => ({
    role: 'assistant',
    content: { type: 'text', text: 'x'.repeat(300_000) },
    model: 'm',
  });
  const result = await createTestClient(serve(registry), { answer }).callTool('long');
  expect(result).toMatchObject({ isError: true, text: expect.stringContaining('too long') as string });
});

test('lists of different kinds are kept apart, even where a source returns the same empty list for all', async () => {
  const client = createTestClient(serve(new ToolRegistry(), { publish: true }));
  expect(await client.request('resources/list')).toMatchObject({ resources: [] });
  expect(await client.request('resources/templates/list')).toMatchObject({ resourceTemplates: [] });
});

test.each([
  [
    'detaches and throws at once',
    ({ detach }: { detach: () => void }) => {
      detach();
      throw new Error('at once');
    },
    { status: 'completed', result: { isError: true } },
  ],
  [
    'swallows a question and then detaches',
    async ({
      detach,
      elicit,
    }: {
      detach: () => void;
      elicit: (request: { message: string; url: string }) => Promise<unknown>;
    }) => {
      await elicit({ message: 'Go?', url: 'https://example.com' }).catch(quiet);
      detach();
      return 'done';
    },
    { status: 'failed' },
  ],
])('the task of a handler that %s ends', async (_what, run, expected) => {
  const registry = new ToolRegistry().registerTool(
    defineTool({ name: 'job', description: 'Runs.' }, (_args, context) => run(context as never)),
  );
  const request = taskClient(registry);
  const begun = await request('tools/call', { name: 'job' });
  expect(begun['resultType']).toBe('task');
  expect(await settledTask(request, begun['taskId'])).toMatchObject(expected);
});

test('a call that detaches after its timeout does not become a task', async () => {
  const clock = createFakeClock();
  let release = quiet;
  let after: Promise<void> | undefined;
  const registry = new ToolRegistry().registerTool(
    defineTool({ name: 'late', description: 'Is late.' }, (_args, { detach }) => {
      after = new Promise<void>((resolve) => (release = resolve)).then(detach);
      return after;
    }),
  );
  const kept: unknown[] = [];
  const request = taskClient(registry, { clock, deadlineMs: 1_000, memory: recordingTasks(kept) });
  const answer = request('tools/call', { name: 'late' });
  await Promise.resolve();
  clock.advance(1_001);
  expect(await answer).toMatchObject({ isError: true });
  release();
  await after;
  expect(kept).toEqual([]);
});

function recordingTasks(kept: unknown[]): NonNullable<ServerOptions['memory']> {
  const nothing = {
    put: quiet,
    get: () => undefined,
    delete: quiet,
    keep: quiet,
    after: () => undefined,
    forget: quiet,
  };
  return {
    keys: { current: () => ({ id: 'k', bytes: new Uint8Array(32) }), find: () => undefined },
    spent: { spend: () => true },
    tasks: { put: (record) => void kept.push(record), get: () => undefined },
    events: nothing,
    sessions: nothing,
  };
}

test('annotation defaults keep the capabilities that a tool requires', async () => {
  const registry = new ToolRegistry({ annotationDefaults: 'saas' }).registerTool(
    defineTool({ name: 'ask', description: 'Asks.', requires: ['elicitation'] }, () => 'ran'),
  );
  await expect(createTestClient(serve(registry)).callTool('ask')).rejects.toMatchObject({ code: -32021 });
});

test('a thrown value that has no JSON form is still an error result for the model', async () => {
  const circular: Record<string, unknown> = { big: 1n };
  circular['self'] = circular;
  const registry = new ToolRegistry().register('broken', () => {
    // oxlint-disable-next-line typescript/only-throw-error -- the point of the test.
    throw circular;
  });
  const written: string[] = [];
  const { write } = process.stderr;
  process.stderr.write = (text: string) => written.push(text) > 0;
  try {
    const result = await createTestClient(createServer({ source: registry })).callTool('broken');
    expect(result.isError).toBe(true);
  } finally {
    process.stderr.write = write;
  }
  expect(JSON.parse(written.join(''))).toMatchObject({
    level: 'error',
    cause: expect.stringContaining('big') as string,
  });
});

test('when standard input ends with a subscription open, the server ends', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const done = serveStdio(serve(new ToolRegistry().register('a', () => 'a')), { input, output });
  const params = {
    notifications: { toolsListChanged: true },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  input.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params })}\n`);
  await done;
  expect(String(output.read())).toContain('acknowledged');
});

test('a question without an answer ends the call after ten minutes', async () => {
  const clock = createFakeClock();
  const [input, output] = [new PassThrough(), new PassThrough()];
  const registry = new ToolRegistry().register('ask', (_args, { elicit }) =>
    elicit({ message: 'Well?', schema: { properties: {} } }),
  );
  const done = serveStdio(serve(registry, { clock }), { input, output });
  const say = (message: object): boolean =>
    input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const lines = output[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const heard = async (part: string): Promise<string> => {
    for (;;) {
      const text = String((await lines.next()).value);
      if (text.includes(part)) return text;
    }
  };
  say({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo },
  });
  await heard('protocolVersion');
  say({ id: 2, method: 'tools/call', params: { name: 'ask' } });
  await heard('elicitation/create');
  clock.advance(9 * 60_000);
  clock.advance(60_001);
  expect(await heard('"id":2')).toContain('"isError":true');
  input.end();
  await done;
});

test('A8 a caller that opens too many sessions loses its own oldest sessions, and no other caller loses any', async () => {
  const callers = new Map<string, Caller>(['ada', 'bob'].map((id) => [id, { ...localCaller, id }] as const));
  const server = serve(new ToolRegistry(), {
    requestsPerMinute: 100_000,
    authenticate: ({ headers }) => callers.get(String(headers['x-caller'])),
  });
  const open = async (id: string): Promise<string> => {
    const answer = await post(id, {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    });
    return answer.headers.get('mcp-session-id')!;
  };
  const post = (id: string, message: object, session?: string): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-caller': id,
          ...(session && { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message } satisfies JsonRpcMessage),
      }),
    );
  const adas = await open('ada');
  const [first] = [await open('bob')];
  for (let count = 0; count < 1_000; count++) await open('bob');
  const ping = { id: 2, method: 'ping' };
  expect((await post('ada', ping, adas)).status).toBe(200);
  expect((await post('bob', ping, first)).status).toBe(404);
});
