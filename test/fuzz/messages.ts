import { modernMeta } from '../faults/client.ts';
import type { Step } from './case.ts';
import type { Random } from '../faults/scenario.ts';
import { jsonPieces, mutate, type Mutation } from './mutations.ts';

/** A message that works, with the headers it goes with. */
export interface Good {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it opens a stream that stays open. */
  readonly isStream?: boolean;
}

/** The revisions that begin with a handshake. */
export const handshakes = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** A handshake of one of them. */
export function handshake(version: string): Good {
  const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'f', version: '1' } };
  return { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params }, headers: {} };
}

/** A call that works on 2026-07-28. */
export const soundCall = modern(
  'tools/call',
  { name: 'echo', arguments: { nonce: 'sound', load: [1, 'é', null, { a: -0.5, 'b\\"': '\u{1f600}' }] } },
  'echo',
);

const called = (name: string, args: object = {}): object => ({ name, arguments: { nonce: 'x', ...args } });
const keyed = { ...called('effect'), _meta: { 'dev.toolcrib/idempotencyKey': 'k' } };
const completing = {
  ref: { type: 'ref/prompt', name: 'greet' },
  argument: { name: 'who', value: 'y' },
  context: { arguments: { a: 'b' } },
};
const answers = { sure: { action: 'accept', content: { yes: true } } };
const filter = {
  toolsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['note://all', 'x'],
  taskIds: ['abc'],
};

const modernMessages: readonly Good[] = [
  soundCall,
  modern('tools/call', keyed, 'effect'),
  modern('tools/call', called('strict', { unique: [{ a: 1 }, { a: 2 }], matched: 'ab1' }), 'strict'),
  modern('tools/call', called('ask'), 'ask'),
  modern(
    'tools/call',
    { ...called('ask'), inputResponses: answers, requestState: 'AAAAAAAAAAAAAAAAAAAA' },
    'ask',
  ),
  modern('tools/call', called('later'), 'later'),
  modern('tools/call', { ...called('chatty', { times: 1 }), _meta: { progressToken: 1 } }, 'chatty'),
  modern('tools/list', { cursor: 'abc' }),
  modern('server/discover', {}),
  modern('resources/list', {}),
  modern('resources/templates/list', {}),
  modern('resources/read', { uri: 'note://x%20y' }, 'note://x%20y'),
  modern('prompts/list', {}),
  modern('prompts/get', { name: 'greet', arguments: { who: 'b' } }, 'greet'),
  modern('completion/complete', completing),
  modern('tasks/get', { taskId: 'abc' }, 'abc'),
  modern('tasks/update', { taskId: 'abc', inputResponses: answers }, 'abc'),
  modern('tasks/cancel', { taskId: 'abc' }, 'abc'),
  { ...modern('subscriptions/listen', { notifications: filter }), isStream: true },
];

const oldMethods: readonly (readonly [method: string, params: object])[] = [
  ['ping', {}],
  ['tools/list', { cursor: 'abc' }],
  ['tools/call', called('echo')],
  ['tools/call', { ...called('chatty', { times: 1 }), _meta: { progressToken: 'p' } }],
  ['resources/read', { uri: 'note://all' }],
  ['resources/subscribe', { uri: 'note://all' }],
  ['resources/unsubscribe', { uri: 'note://all' }],
  ['prompts/get', { name: 'greet', arguments: { who: 'b' } }],
  ['completion/complete', completing],
  ['logging/setLevel', { level: 'info' }],
];

/** Messages of every method and revision, all of which work on a server that has what they name. */
export const goodMessages: readonly Good[] = [
  ...modernMessages,
  ...handshakes.flatMap((version) => [handshake(version), ...onSession(version)]),
];

function onSession(version: string): Good[] {
  const headers = { 'mcp-session-id': `{session ${version}}`, 'mcp-protocol-version': version };
  const one = (method: string, params: object): Good => ({
    body: { jsonrpc: '2.0', id: 1, method, params },
    headers,
  });
  const notes = [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'x' } },
    { jsonrpc: '2.0', id: 'ask-1', result: { action: 'accept', content: { yes: true } } },
  ];
  const list = oldMethods.slice(0, 4).map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
  return [
    ...oldMethods.map(([method, params]) => one(method, params)),
    ...notes.map((body) => ({ body, headers })),
    ...(version === '2025-03-26' ? [{ body: [...list, ...notes], headers }] : []),
  ];
}

function modern(method: string, params: object, name?: string): Good {
  const extensions = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const declared = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, ...extensions } };
  const meta = { ...modernMeta, ...declared, ...(params as { _meta?: object })._meta };
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
  };
}

const goodBytes: readonly Buffer[] = goodMessages.map(({ body }) => Buffer.from(JSON.stringify(body)));

/** A good message with some changes. */
export function mutated(random: Random): Step {
  const index = random.between(0, goodMessages.length - 1);
  const { body, headers, isStream = false } = goodMessages[index]!;
  const step = { headers, ...(isStream && { isStream }) };
  // Half of the messages stay JSON, so that they get further than the reader.
  if (random.next() < 0.5) {
    const changed = structuredClone(body) as Record<string, unknown>;
    for (let change = random.between(1, 3); change > 0; change--) twist(changed, random);
    return { ...step, body: Buffer.from(JSON.stringify(changed)) };
  }
  let bytes = goodBytes[index]!;
  for (let change = random.between(1, 4); change > 0; change--)
    bytes = mutate(bytes, mutationOf(random, pieces));
  return { ...step, body: bytes };
}

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
  '"\\ud83d\\ude00\\u0000":1,',
  '%zz',
];

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
  { 'a\\': 1, '\u0001a': 2 },
  'echo',
  'hog',
  '2025-03-26',
  '../../etc/passwd',
  'note://%zz',
];

// What a message is made of is changed more seldom than what is in it: most messages should get beyond the reader.
const FRAME = new Set(['jsonrpc', 'id', 'method', 'params']);

// Puts something odd in some place of a message, or takes something out.
function twist(node: Record<string, unknown>, random: Random): void {
  const names = Object.keys(node);
  const inside = names.filter((name) => typeof node[name] === 'object' && node[name] !== null);
  const isFrame = names.some((name) => FRAME.has(name));
  if (inside.length > 0 && random.next() < (isFrame ? 0.85 : 0.6)) {
    twist(node[random.pick(inside)] as Record<string, unknown>, random);
    return;
  }
  const isNew = names.length === 0 || random.next() < 0.1;
  const name = isNew ? random.pick(['__proto__', 'constructor', 'x', '']) : random.pick(names);
  if (random.next() < 0.2) delete node[name];
  else
    Object.defineProperty(node, name, {
      // Now and then so long that it comes in several reads.
      value: random.next() < 0.005 ? 'y'.repeat(70_000) : structuredClone(random.pick(oddities)),
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

/** One change of some bytes, by chance. */
export function mutationOf(random: Random, among: readonly string[]): Mutation {
  const at = random.next();
  switch (random.between(0, 4)) {
    case 0:
      return { kind: 'set', at, byte: random.between(0, 255) };
    case 1:
      return { kind: 'insert', at, text: random.pick(among) };
    case 2:
      return { kind: 'cut', at, length: random.between(0, 40) };
    case 3:
      return { kind: 'end', at, text: random.next() < 0.5 ? '' : random.pick(among) };
    default:
      return { kind: 'repeat', at, length: random.between(0, 40) };
  }
}
