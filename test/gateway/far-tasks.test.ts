import { expect, test } from 'vitest';
import { within } from '../within.ts';
import { ECHO, said, standard, type Got } from '../client/peers.ts';
import { answerHandshake, bridgeTo } from './bridge.ts';

const TASK = {
  taskId: 't1',
  status: 'working',
  createdAt: '2026-01-01T00:00:00Z',
  ttl: 60_000,
  pollInterval: 50,
};

/** A server of 2025-11-25 whose tool runs as a task only, and asks on the stream of its result. */
function oldTasks(got: Got): void {
  if (answerHandshake(got, { tasks: { requests: { tools: { call: {} } } } })) return;
  switch (got.body['method']) {
    case 'tools/list':
      return got.reply({ tools: [{ ...ECHO, execution: { taskSupport: 'required' } }] });
    case 'tools/call':
      return got.reply({ task: TASK });
    case 'tasks/get':
      return got.reply({ ...TASK, status: 'completed' });
    case 'tasks/result':
      return got.reply(said('from a task'));
    default:
      return standard(got);
  }
}

test.each([
  ['2026-07-28', true],
  ['2026-07-28', false],
  ['2025-11-25', false],
])('a task of 2025-11-25 is followed for a client of %s (tasks: %s)', async (protocol, tasks) => {
  const { near, upstream } = await bridgeTo(oldTasks, {
    near: { protocol, tasks },
    far: { protocol: '2025-11-25' },
  });
  expect(await near.callTool('echo').text()).toBe('from a task');
  const call = upstream.got.find(({ body }) => body['method'] === 'tools/call')!;
  expect(call.body['params']).toMatchObject({ task: {} });
  expect((await near.listTools())[0]).not.toHaveProperty('execution');
});

test('a task whose client gives up is cancelled at the upstream', async () => {
  let noteCancel = (): void => {};
  const cancelled = new Promise<void>((resolve) => (noteCancel = resolve));
  const caller = new AbortController();
  const { near } = await bridgeTo(
    (got) => {
      switch (got.body['method']) {
        case 'tasks/get':
          caller.abort();
          return got.reply(TASK);
        case 'tasks/cancel':
          noteCancel();
          return got.reply({});
        default:
          return oldTasks(got);
      }
    },
    { near: { protocol: '2026-07-28', tasks: false }, far: { protocol: '2025-11-25' } },
  );
  await expect(near.callTool('echo', {}, { signal: caller.signal })).rejects.toMatchObject({
    code: 'cancelled',
  });
  await within(5_000, 'the far task to be cancelled', cancelled);
});

test('trace context and foreign _meta members are passed on; members of one connection or of our own are not', async () => {
  const { near, upstream } = await bridgeTo((got) =>
    got.body['method'] === 'tools/call' ? got.reply(said('ok')) : standard(got),
  );
  const meta = {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'a=b',
    baggage: 'user=ada',
    'acme.com/order': 7,
    'dev.toolcrib/idempotencyKey': 'k1',
    'io.modelcontextprotocol/related-task': { taskId: 'x' },
    plain: true,
  };
  await near.callTool('echo', {}, { meta, onProgress: () => {} });
  const sent = upstream.got.at(-1)!.body['params'] as { _meta: Record<string, unknown> };
  const keys = Object.keys(sent._meta).filter((key) => !key.startsWith('io.modelcontextprotocol/client'));
  expect(keys.toSorted()).toEqual([
    'acme.com/order',
    'io.modelcontextprotocol/protocolVersion',
    'progressToken',
    'traceparent',
    'tracestate',
  ]);
});
