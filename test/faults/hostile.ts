import { openLimits } from '../../src/server/caller-limit.ts';
import { handshake } from '../fuzz/messages.ts';
import { modernMeta } from './client.ts';
import type { Attack, Parts } from './attack.ts';
import { worstInputs } from './worst-inputs.ts';
import { longFilter } from './worst-members.ts';

/** Something a hostile tenant does for a while, with everything it is let have. */
export interface Phase {
  readonly name: string;
  /** What is promised to others meanwhile: a p99 within 100 ms of their own, or within a fifth of it. */
  readonly promise: 'bodies' | 'flood';
  /** How many streams have to begin, or nothing was shown. */
  readonly mustStream?: number;
  run(attack: Attack): Promise<void>;
}

/** How many callers the hostile tenant has. */
export const HOSTILES = 4;

const FILLER = 'x'.repeat(980_000);
// A hundred of them are together as long as the addresses of one caller may be.
const SHORT_FILTER = Array.from({ length: 50 }, (_, index) => `note://${String(index).padStart(90, 'x')}`);
const STREAMS = HOSTILES * openLimits.perCaller;
const CAPABILITIES = Object.fromEntries(
  Array.from({ length: 900 }, (_, index) => [`c${index}`, { a: 'x'.repeat(780) }]),
);

const alone = worstInputs.filter(({ on }) => on === undefined);
const batches = worstInputs.filter(({ on }) => on === 'session');
const posted = worstInputs.filter(({ on }) => on === 'stream');
const opening: Parts = { body: Buffer.from(JSON.stringify(handshake('2025-03-26').body)), headers: {} };

/** Everything a tenant can do to others, one after the other. */
export const phases: readonly Phase[] = [
  flood('calls', (index) => call('echo', { nonce: `n${index}` })),
  flood('requests that are no calls', (index) => small[index % small.length]!),
  flood('refusals', (index) => refused[index % refused.length]!),
  bodies('large handshakes', (index) => initialize(CAPABILITIES, index)),
  bodies('large calls with keys', (index) =>
    call('kept', { nonce: 'x', load: FILLER }, { 'dev.toolcrib/idempotencyKey': `k${Date.now()}-${index}` }),
  ),
  bodies('large calls that detach', (index) => detaching(index)),
  bodies('worst bodies', (index) => alone[index % alone.length]!),
  {
    name: 'worst batches',
    promise: 'bodies',
    run: (attack) => attack.within(4, opening, (index) => batches[index % batches.length]!),
  },
  {
    name: 'worst bodies beside streams',
    promise: 'bodies',
    mustStream: 1,
    run: (attack) => attack.beside(4, (index) => posted[index % posted.length]!),
  },
  { ...bodies('large subscriptions', () => listen(longFilter)), mustStream: HOSTILES },
  {
    name: 'many subscriptions',
    promise: 'flood',
    mustStream: STREAMS / 10,
    run: (attack) => attack.hold(STREAMS, () => listen(SHORT_FILTER)),
  },
  { name: 'connections', promise: 'flood', run: (attack) => attack.hold(1_200, () => halfHead) },
  { name: 'answers that are not read', promise: 'bodies', run: (attack) => attack.hold(64, () => bigAnswer) },
  {
    name: 'hang-ups',
    promise: 'bodies',
    run: (attack) => attack.leave(4, (index) => alone[index % alone.length]!),
  },
  { name: 'rounds of questions', promise: 'flood', run: (attack) => attack.converse(8, question) },
  { name: 'sessions with streams', promise: 'flood', run: (attack) => attack.follow(16, sessionCalls) },
];

/** Stands in for the worst there could be: a call that holds up everybody. */
export const hogging: Phase = bodies('hog', () => call('hog', { nonce: 'x', ms: 2_000 }));

function flood(name: string, make: (index: number) => Parts): Phase {
  return { name, promise: 'flood', run: (attack) => attack.send({ lanes: 16, perSecond: 1_000 }, make) };
}

// As many as are taken: two lanes a core keep the server busy without a break.
function bodies(name: string, make: (index: number) => Parts): Phase {
  return { name, promise: 'bodies', run: (attack) => attack.send({ lanes: 4 }, make) };
}

function call(name: string, args: object, meta: object = {}): Parts {
  const params = { name, arguments: args, _meta: { ...modernMeta, ...meta } };
  return modern('tools/call', params, { 'mcp-name': name });
}

function modern(method: string, params: object, headers: Record<string, string> = {}): Parts {
  const body = Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: modernMeta, ...params } }),
  );
  return { body, headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers } };
}

function initialize(capabilities: object, id: number): Parts {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'h', version: '1' } };
  return {
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params })),
    headers: {},
  };
}

const TASKS = {
  'io.modelcontextprotocol/clientCapabilities': {
    elicitation: {},
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  },
};

// Every other one goes on for a while.
function detaching(index: number): Parts {
  return call('later', { nonce: 'x', ms: (index % 2) * 20_000, load: FILLER }, TASKS);
}

function listen(uris: readonly string[]): Parts {
  return modern('subscriptions/listen', {
    notifications: { toolsListChanged: true, resourceSubscriptions: uris },
  });
}

const complete = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'y' } };
const small: readonly Parts[] = [
  modern('tools/list', {}),
  modern('server/discover', {}),
  modern('completion/complete', complete),
  initialize({}, 1),
  modern('resources/list', {}),
  modern('prompts/get', { name: 'greet', arguments: { who: 'x' } }, { 'mcp-name': 'greet' }),
];

const refused: readonly Parts[] = [
  { ...call('echo', { nonce: 'x' }), key: 'not-a-key' },
  call('absent', {}),
  call('echo', { nonce: 1 }),
  { body: Buffer.from('{"jsonrpc":'), headers: {} },
  { ...modern('tools/list', {}), headers: { 'mcp-session-id': 'absent' } },
  { ...call('echo', { nonce: 'x' }), headers: {} },
];

// Neither the head nor the body ever comes to an end.
const halfHead: Parts = {
  body: Buffer.alloc(0),
  headers: { 'content-length': '1000', 'x-filler': 'x'.repeat(8_000) },
};
const bigAnswer: Parts = { ...call('big', { nonce: 'x', bytes: 900_000 }), isUnread: true };

function question(state: object): Parts {
  const params = { name: 'ask', arguments: { nonce: 'x' }, _meta: { ...modernMeta, ...TASKS }, ...state };
  return modern('tools/call', params, { 'mcp-name': 'ask' });
}

const sessionCalls = {
  handshake: { body: Buffer.from(JSON.stringify(handshake('2025-11-25').body)), headers: {} },
  call: {
    body: Buffer.from(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: 'chatty', arguments: { times: 50 }, _meta: { progressToken: 1 } },
      }),
    ),
    headers: { 'mcp-protocol-version': '2025-11-25' },
  },
} satisfies Readonly<Record<string, Parts>>;
