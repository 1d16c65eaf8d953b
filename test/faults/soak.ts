import { readdirSync } from 'node:fs';
import type { Caller } from '../../src/core/caller.ts';
import { systemClock } from '../../src/base/clock.ts';
import { modernMeta } from './client.ts';
import { openGoverned } from './governed.ts';
import { Random } from './scenario.ts';

/** What a process holds after everything that can be collected is. */
export interface Holdings {
  readonly heap: number;
  readonly rss: number;
  /** How many calls had been made by then, and how many callers had come. */
  readonly calls: number;
  readonly callers: number;
  readonly descriptors: number;
  readonly resources: number;
  readonly listeners: number;
}

const [calls = 0, seed = 0, leak = 0] = process.argv.slice(2).map(Number);
// Callers are dropped some time after their last call; a clock of our own makes that depend on calls, not on speed.
let aheadMs = 0;
const clock = { ...systemClock, ticks: () => systemClock.ticks() + aheadMs };
const { server, caller, entries, close } = await openGoverned(clock);
const random = new Random(seed);
const leaked: unknown[] = [];
const TENANTS = 2_000;
const CALLS_PER_CALLER = 5;
let callers = 0;

interface Kind {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly isCancelled?: boolean;
}

const KINDS: readonly ((id: number) => Kind)[] = [
  (id) => call('echo', { nonce: `n${id}` }),
  (id) => call('echo', { nonce: `n${id}`, load: { a: [id, 'x'] } }),
  (id) => call('echo', { nonce: id }),
  (id) => call(`absent-${id}`, {}),
  (id) => call('slow', { nonce: `n${id}`, ms: 1 }),
  (id) => ({ ...call('patient', { nonce: `n${id}`, ms: 60_000 }), isCancelled: true }),
  (id) => call('big', { nonce: `n${id}`, bytes: 2_000 }),
  (id) => keyed(`key-${id % 100}`),
  () => ({ method: 'tools/list', params: {} }),
  (id) => ({ method: `unknown/${id}`, params: {} }),
];

for (let made = 0; made < calls; made += 100) {
  await manyCalls(made);
  // The store in memory keeps the newest rows, up to a limit; here they would only hide what else grows.
  entries.length = 0;
  aheadMs += 1_000;
  if (made === Math.floor(calls / 300) * 100 || made === calls - 100)
    process.stdout.write(`${JSON.stringify(await holdings(made + 100))}\n`);
}
await close();

// In a function of its own, so that its answers, some with long lists of tools, are not part of what is measured.
async function manyCalls(from: number): Promise<void> {
  const visitors = Array.from({ length: 100 / CALLS_PER_CALLER }, visitor);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => oneCall(from + index, visitors[index % visitors.length]!)),
  );
  if (leak === 1) leaked.push(...answers.map((answer) => JSON.stringify(answer)));
  if (leak === 2) leaked.push(...visitors);
}

// A new caller of a tenant that calls again and again; nothing here keeps a reference to either.
function visitor(): Caller {
  const tenant = `t${callers % TENANTS}`;
  return { ...caller, id: `c${callers++}`, tenant: { id: tenant, name: tenant, data: {} } };
}

async function oneCall(id: number, from: Caller): Promise<unknown> {
  const { method, params, isCancelled = false } = random.pick(KINDS)(id);
  const _meta: Readonly<Record<string, unknown>> = {
    ...modernMeta,
    ...(params['_meta'] as object | undefined),
  };
  const message = { jsonrpc: '2.0' as const, id, method, params: { ...params, _meta } };
  // Results under a key are stored for a day, so the callers with keys are always the same.
  const by = _meta['dev.toolcrib/idempotencyKey'] === undefined ? from : caller;
  if (!isCancelled) return server.handle(message, { caller: by });
  const controller = new AbortController();
  const answer = server.handle(message, { caller: by, signal: controller.signal });
  controller.abort();
  return answer;
}

function call(name: string, args: object): Kind {
  return { method: 'tools/call', params: { name, arguments: args } };
}

function keyed(key: string): Kind {
  const params = { name: 'effect', arguments: { nonce: 'x' }, _meta: { 'dev.toolcrib/idempotencyKey': key } };
  return { method: 'tools/call', params };
}

async function holdings(made: number): Promise<Holdings> {
  // Refusals are counted for a second before they are written down.
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    globalThis.gc!();
  }
  return {
    heap: process.memoryUsage().heapUsed,
    rss: process.memoryUsage().rss,
    calls: made,
    callers,
    descriptors: readdirSync('/proc/self/fd').length,
    resources: process.getActiveResourcesInfo().length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  };
}
