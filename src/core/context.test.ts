import { expect, expectTypeOf, test, vi } from 'vitest';
import { z } from 'zod';
import type { Progress, ToolCall, Voice } from './call.ts';
import { localCaller } from './caller.ts';
import { Cancellation } from '../base/cancellation.ts';
import { CallContext, type ToolContext } from './context.ts';
import { Interview } from './interview.ts';
import { CallRecord } from './record.ts';
import { ToolRegistry } from './registry.ts';
import type { Question } from './question.ts';

test('a handler knows its caller, tenant, client and metadata', () => {
  const tenant = { id: 'acme', name: 'Acme', data: { plan: 'gold' } };
  const caller = { ...localCaller, id: 'ada', tenant };
  const client = { name: 'cli', version: '1', protocolVersion: '2026-07-28', capabilities: {} };
  const context = new CallContext(callWith({ caller, client, meta: { trace: 'x' } }));
  expect(context.caller).toBe(caller);
  expect(context.tenant).toBe(tenant);
  expect(context.client).toBe(client);
  expect(context.meta).toEqual({ trace: 'x' });
});

test('context_data has the id, the name and the data of the tenant (001-55)', () => {
  const tenant = { id: 'acme', name: 'Acme', data: { uuid: 'u-1', type: 'agency', region: 'eu' } };
  const { context_data: data } = new CallContext(callWith({ caller: { ...localCaller, tenant } }));
  expect(data).toEqual({ id: 'acme', name: 'Acme', uuid: 'u-1', type: 'agency', region: 'eu' });
});

test('a tenant without a name is Unknown, and no tenant data can replace its id or name (001-55)', () => {
  const data = { id: 'globex', name: 'Globex' };
  const nameless = callWith({ caller: { ...localCaller, tenant: { id: 'acme', name: '', data } } });
  expect(new CallContext(nameless).context_data).toEqual({ id: 'acme', name: 'Unknown' });
});

test('a handler that filters by context_data sees only its own tenant (001-55)', async () => {
  const rows = [
    { agency: 'acme', title: 'A' },
    { agency: 'globex', title: 'G' },
  ];
  const registry = new ToolRegistry().register('list', (_args, { context_data: { id } }) =>
    rows.filter(({ agency }) => agency === id).map(({ title }) => title),
  );
  const listFor = (id: string): Promise<unknown> =>
    registry.execute('list', {}, { tenant: { id, name: id, data: {} } });
  expect(await listFor('acme')).toEqual(['A']);
  expect(await listFor('globex')).toEqual(['G']);
});

test('calls share the services of the registry, such as a connection pool (001-56)', async () => {
  const pool = { opened: 1, queries: 0 };
  const registry = new ToolRegistry({ services: { pool } }).register('query', (_args, { services }) => {
    const shared = services['pool'] as typeof pool;
    shared.queries++;
    return shared === pool;
  });
  expect(await registry.execute('query')).toBe(true);
  const call = callWith({ tool: registry.find('query')! });
  expect(await registry.call(call)).toMatchObject({ kind: 'done', data: true });
  expect(await registry.call(call)).toMatchObject({ kind: 'done', data: true });
  expect(pool).toEqual({ opened: 1, queries: 3 });
});

test('a registry without services has none, and handlers cannot add any (001-56)', () => {
  const { services } = new CallContext(callWith({}));
  expect(services).toEqual({});
  expect(Object.isFrozen(services)).toBe(true);
});

test('the signal of the context is the one that stops the call', () => {
  const cancellation = new Cancellation();
  const { signal } = new CallContext(callWith({ cancellation }));
  cancellation.abort(new Error('enough'));
  expect(signal.aborted).toBe(true);
});

test('progress has a total and a message only where they are given', () => {
  const reports: Progress[] = [];
  const { progress } = speaking({ report: (report) => reports.push(report) });
  progress(1);
  progress(2, 4);
  progress(4, 4, 'done');
  expect(reports).toEqual([
    { progress: 1 },
    { progress: 2, total: 4 },
    { progress: 4, total: 4, message: 'done' },
  ]);
});

test('log messages reach the client with their level and logger', () => {
  const log = vi.fn<NonNullable<Voice['log']>>();
  speaking({ log }).log('warning', { left: 3 }, 'quota');
  expect(log.mock.calls).toEqual([['warning', { left: 3 }, 'quota']]);
});

test('detach, publish and closeStream reach the server', () => {
  const link = { type: 'resource_link', uri: 'x:1', name: 'report' } as const;
  const done: string[] = [];
  const { detach, publish, closeStream } = speaking({
    detach: () => done.push('detach'),
    closeStream: () => done.push('closeStream'),
    publish: ({ name }) => (done.push(name), link),
  });
  detach();
  closeStream();
  expect(publish({ name: 'report', data: 'x' })).toBe(link);
  expect(done).toEqual(['detach', 'closeStream', 'report']);
});

test.each<[what: string, act: (context: ToolContext) => void]>([
  ['progress', ({ progress }) => progress(1)],
  ['a log entry', ({ log }) => log('info', 'x')],
  ['detaching', ({ detach }) => detach()],
  ['closing the stream', ({ closeStream }) => closeStream()],
])('%s is ignored if nobody asked for it', (_what, act) => {
  expect(() => act(speaking({}))).not.toThrow();
});

test('publishing on a server without publishing is an error that says how to enable it', () => {
  expect(() => speaking({}).publish({ name: 'a', data: 'x' })).toThrow(
    'This server publishes nothing: pass publish: true to createServer.',
  );
});

test('questions have the common internal form', async () => {
  const asked: [string, Question][] = [];
  const interview = new Interview(new Map(), {
    ask(questions) {
      asked.push(...questions);
      return Promise.reject(new Error('nobody here'));
    },
  });
  const { elicit, sample, roots } = new CallContext(callWith({ interview }));
  await Promise.allSettled([
    elicit({ message: 'Which?', schema: z.object({ page: z.string() }) }),
    elicit({ message: 'Sign in', url: 'https://example.com/', key: 'login' }),
    sample({ messages: [], maxTokens: 5, temperature: 0, key: 'draft' }),
    roots(),
  ]);
  expect(asked).toEqual([
    [
      'question-1',
      { kind: 'form', message: 'Which?', schema: expect.objectContaining({ type: 'object' }) as unknown },
    ],
    ['login', { kind: 'url', message: 'Sign in', url: 'https://example.com/' }],
    ['draft', { kind: 'sample', params: { messages: [], maxTokens: 5, temperature: 0 } }],
    ['question-4', { kind: 'roots' }],
  ]);
});

test('a form that clients could not show is refused before anybody is asked', () => {
  const { elicit } = speaking({});
  const nested = { properties: { address: { type: 'object' } } };
  expect(() => void elicit({ message: 'Where?', schema: nested })).toThrow('The form field "address"');
});

test('the answer to a form has the type its schema says', () => {
  const ask = ({ elicit }: ToolContext) =>
    elicit({ message: 'Sure?', schema: { properties: { ok: { type: 'boolean' } }, required: ['ok'] } });
  type Accepted = Extract<Awaited<ReturnType<typeof ask>>, { action: 'accept' }>;
  expectTypeOf<Accepted['content']>().toEqualTypeOf<{ ok: boolean }>();
});

test('cleanup functions run once, the last one first, each after the one before', async () => {
  const context = speaking({});
  const ran: string[] = [];
  context.onCleanup(() => ran.push('first'));
  context.onCleanup(async () => {
    await Promise.resolve();
    ran.push('second');
  });
  await context.cleanUp();
  await context.cleanUp();
  expect(ran).toEqual(['second', 'first']);
});

test('a cleanup function that fails does not stop the others', async () => {
  const context = speaking({});
  const ran: string[] = [];
  context.onCleanup(() => ran.push('kept'));
  context.onCleanup(() => Promise.reject(new Error('late')));
  context.onCleanup(() => {
    throw new Error('at once');
  });
  await expect(context.cleanUp()).resolves.toBeUndefined();
  expect(ran).toEqual(['kept']);
});

test('members of the context can be destructured and called alone', () => {
  const { onCleanup, elicit, sample, roots, log } = speaking({});
  for (const member of [onCleanup, elicit, sample, roots, log]) expect(member).toBeTypeOf('function');
});

function speaking(voice: Voice): CallContext {
  return new CallContext(callWith({ voice }));
}

function callWith(part: Partial<ToolCall>): ToolCall {
  return {
    kind: 'tool',
    tool: {
      name: 'a',
      description: 'Does a.',
      inputSchema: { type: 'object', properties: {} },
      handler: () => undefined,
    },
    arguments: {},
    caller: localCaller,
    client: { name: undefined, version: undefined, protocolVersion: undefined, capabilities: {} },
    meta: {},
    cancellation: new Cancellation(),
    record: new CallRecord(),
    interview: new Interview(),
    voice: {},
    ...part,
  };
}
