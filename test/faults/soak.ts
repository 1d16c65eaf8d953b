import { readdirSync } from 'node:fs';
import { modernMeta } from './client.ts';
import { openGoverned } from './governed.ts';
import { Random } from './scenario.ts';

/** What a process holds after everything that can be collected is. */
export interface Holdings {
  readonly heap: number;
  readonly descriptors: number;
  readonly resources: number;
  readonly listeners: number;
}

const [calls = 0, seed = 0, leaks = 0] = process.argv.slice(2).map(Number);
const { server, caller, entries, close } = await openGoverned();
const random = new Random(seed);
const leaked: unknown[] = [];

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
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => oneCall(made + index)));
  if (leaks === 1) leaked.push(...answers.map((answer) => JSON.stringify(answer)));
  // The store in memory keeps the newest rows, up to a limit; here they would only hide what else grows.
  entries.length = 0;
  if (made === Math.floor(calls / 300) * 100 || made === calls - 100)
    process.stdout.write(`${JSON.stringify(await holdings())}\n`);
}
await close();

async function oneCall(id: number): Promise<unknown> {
  const { method, params, isCancelled = false } = random.pick(KINDS)(id);
  const _meta = { ...modernMeta, ...(params['_meta'] as object | undefined) };
  const message = { jsonrpc: '2.0' as const, id, method, params: { ...params, _meta } };
  if (!isCancelled) return server.handle(message, { caller });
  const controller = new AbortController();
  const answer = server.handle(message, { caller, signal: controller.signal });
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

async function holdings(): Promise<Holdings> {
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc!();
  }
  return {
    heap: process.memoryUsage().heapUsed,
    descriptors: readdirSync('/proc/self/fd').length,
    resources: process.getActiveResourcesInfo().length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  };
}
