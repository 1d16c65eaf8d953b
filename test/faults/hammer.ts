import { jsonPieces, mutate, type Mutation } from '../fuzz/mutations.ts';
import { leaksIn } from '../security/leaks.ts';
import { modernMeta } from './client.ts';
import { Random, summarise, type Outcome, type RunOptions } from './scenario.ts';
import { isWellFormed } from './well-formed.ts';

const AT_ONCE = 64;
const pieces = [
  ...jsonPieces,
  '"params":[],',
  '"cursor":1,',
  '"_meta":{},',
  '[[',
  ']]',
  '-0',
  '"arguments":1,',
  '"name":"hog",',
];

/** A message as it is sent. */
export interface Sent {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** What came back. */
export interface Reply {
  readonly status: number;
  readonly text: string;
  /** What was really sent, where that is not what was asked for. */
  readonly body?: Buffer;
}

/** Sends mutated messages and looks at every answer. */
export async function hammer(
  { seed, report }: RunOptions,
  messages: number,
  send: (message: Sent) => Promise<Reply>,
): Promise<Outcome> {
  const random = new Random(seed);
  const accidents: unknown[] = [];
  const note = (reason: unknown): void => void accidents.push(reason);
  process.on('unhandledRejection', note).on('uncaughtException', note);
  const statuses = new Map<number, number>();
  const wrong: string[] = [];
  const taken: string[] = [];
  const seen = new Set<string>();
  let malformed = 0;
  let longestMs = 0;
  try {
    for (let sent = 0; sent < messages; sent += AT_ONCE) {
      const startedAt = performance.now();
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          const message = mutated(random);
          return { body: message.body, ...(await send(message)) };
        }),
      );
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      for (const { status, text, body } of answers) {
        if (!isWellFormed(body)) {
          malformed++;
          if (!isRefusal({ status, text })) taken.push(`${status} for ${body.toString().slice(0, 200)}`);
        }
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // Most answers are the same as one before.
        const answer = `${status} ${text}`;
        if (seen.has(answer)) continue;
        seen.add(answer);
        wrong.push(...problems(status, text));
      }
    }
    const { status, text } = await send({ body: goodBytes[0]!, headers: good[0]!.headers });
    if (status !== 200 || !text.includes('sound'))
      wrong.push(`a good call afterwards was answered with ${status} ${text.slice(0, 200)}`);
  } finally {
    process.off('unhandledRejection', note).off('uncaughtException', note);
  }
  const spread = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  report(`${malformed} malformed, ${taken.length} of them accepted`);
  report(`answers by status: ${spread.join(', ')}; the slowest ${AT_ONCE} took ${Math.round(longestMs)} ms`);
  return {
    counts: `${messages} messages`,
    failures: [
      ...summarise('bad answers', [...new Set(wrong)]),
      ...summarise('messages accepted although malformed', taken),
      ...summarise('unhandled', accidents),
    ],
  };
}

// A list of answers refuses when each of them does.
function isRefusal({ status, text }: Reply): boolean {
  if (status >= 400) return true;
  const found = text.startsWith('event:') ? /^data: (.*)$/m.exec(text)?.[1] : text;
  if (found === undefined || found === '') return false;
  return found
    .split('\n')
    .flatMap((line) => JSON.parse(line) as object)
    .every((answer) => Object.hasOwn(answer, 'error'));
}

// Leaves the text of callers out: what they sent may come back to them.
function problems(status: number, text: string): string[] {
  const found = leaksIn(text).map((leak) => `${leak}: ${text.slice(0, 200)}`);
  if (text === '') return [202, 204].includes(status) ? found : [...found, `${status} and nothing else`];
  if (status >= 500) found.push(`${status} ${text.slice(0, 200)}`);
  if (
    text.startsWith('{"jsonrpc":"2.0"') ||
    text.startsWith('[{') ||
    text.startsWith('event:') ||
    text.startsWith(':')
  )
    return found;
  return [...found, `not JSON-RPC: ${text.slice(0, 200)}`];
}

interface Good {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

const good: readonly Good[] = [
  modern(
    'tools/call',
    { name: 'echo', arguments: { nonce: 'sound', load: [1, 'é', null, { a: -0.5 }] } },
    'echo',
  ),
  modern(
    'tools/call',
    { name: 'effect', arguments: { nonce: 'x' }, _meta: { 'dev.toolcrib/idempotencyKey': 'k' } },
    'effect',
  ),
  modern('tools/list', { cursor: 'abc' }),
  modern('server/discover', {}),
  modern('resources/read', { uri: 'note://x' }, 'note://x'),
  modern('prompts/get', { name: 'p', arguments: { a: 'b' } }, 'p'),
  modern('completion/complete', {
    ref: { type: 'ref/prompt', name: 'p' },
    argument: { name: 'a', value: 'b' },
  }),
  {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'f', version: '1' } },
    },
    headers: {},
  },
  {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: { nonce: 'x' } },
    },
    headers: { 'mcp-protocol-version': '2025-06-18' },
  },
];

function modern(method: string, params: object, name?: string): Good {
  const meta = { ...modernMeta, ...(params as { _meta?: object })._meta };
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
  };
}

const goodBytes: readonly Buffer[] = good.map(({ body }) => Buffer.from(JSON.stringify(body)));

function mutated(random: Random): Sent {
  const index = random.between(0, good.length - 1);
  // Half of the messages stay JSON, so that they get further than the reader.
  if (random.next() < 0.5) {
    const body = structuredClone(good[index]!.body) as Record<string, unknown>;
    for (let change = random.between(1, 3); change > 0; change--) twist(body, random);
    return { body: Buffer.from(JSON.stringify(body)), headers: good[index]!.headers };
  }
  let bytes = goodBytes[index]!;
  for (let change = random.between(1, 4); change > 0; change--) bytes = mutate(bytes, mutation(random));
  return { body: bytes, headers: good[index]!.headers };
}

const oddities: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53 + 2,
  '',
  'x'.repeat(5_000),
  '__proto__',
  '\u0000\ud800',
  [],
  {},
  [[[[]]]],
  { toString: 1, then: 1, constructor: { prototype: 1 } },
  ['a', { b: [null] }],
  'echo',
  'hog',
  '2025-03-26',
  '../../etc/passwd',
];

// Puts something odd in some place of a message, or takes something out.
function twist(node: Record<string, unknown>, random: Random): void {
  const names = Object.keys(node);
  const name =
    names.length === 0 || random.next() < 0.1
      ? random.pick(['__proto__', 'constructor', 'x', ''])
      : random.pick(names);
  const inner = Object.hasOwn(node, name) ? node[name] : undefined;
  if (typeof inner === 'object' && inner !== null && random.next() < 0.7)
    twist(inner as Record<string, unknown>, random);
  else if (random.next() < 0.2) delete node[name];
  else
    Object.defineProperty(node, name, {
      value: structuredClone(random.pick(oddities)),
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

function mutation(random: Random): Mutation {
  const at = random.next();
  switch (random.between(0, 3)) {
    case 0:
      return { kind: 'set', at, byte: random.between(0, 255) };
    case 1:
      return { kind: 'insert', at, text: random.pick(pieces) };
    case 2:
      return { kind: 'cut', at, length: random.between(0, 40) };
    default:
      return { kind: 'repeat', at, length: random.between(0, 40) };
  }
}

/** A message as a request of the fetch interface. */
export function toRequest({ body, headers }: Sent): Request {
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    body: new Uint8Array(body),
    headers: {
      host: '127.0.0.1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  });
}
