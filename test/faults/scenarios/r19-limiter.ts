import { writeFileSync } from 'node:fs';
import type { ConfigInput } from '../../../src/gateway/settings/config.ts';
import { MAX_ROUNDS } from '../../../src/server/calls/seal.ts';
import { handshake } from '../../fuzz/messages.ts';
import { Client, modernMeta } from '../client.ts';
import { Crib } from '../crib.ts';
import { oddTools } from '../odd-tools.ts';
import { nothingShown, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A limit lets through what it says, and no more. */
export const limiter: Scenario = {
  id: 'R19',
  title: 'rate limits over HTTP allow exactly their number of calls, rounds of questions and other requests',
  run: (options) => pressAll(options, { seconds: options.counts === 'full' ? 30 : 3, isOn: true }),
  // Long enough for a slow machine to get beyond every limit.
  control: (options) => pressAll(options, { seconds: 4, isOn: false }),
};

const PER_MINUTE = 1_200;
const BURST = 50;
const REQUESTS = 120;
const LANES = 8;

interface Press {
  readonly seconds: number;
  readonly isOn: boolean;
}

/** Something that is sent as fast as it is answered; resolves to whether it was let through. */
interface Kind {
  readonly name: string;
  readonly perMinute: number;
  readonly burst: number;
  /** How many of what the limit counts one of them is. */
  readonly cost: number;
  readonly config: ConfigInput;
  /** Whether less than all of it may be let through; going on with a call is no right. */
  readonly isAtMost?: boolean;
  send(client: Client, lane: number): Promise<boolean>;
}

async function pressAll({ report }: RunOptions, how: Press): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  for (const kind of [calls, rounds(), ...requests]) {
    const outcome = await press(kind, how);
    report(`${kind.name}: ${outcome.counts}`);
    outcomes.push({ ...outcome, failures: outcome.failures.map((failure) => `${kind.name}: ${failure}`) });
  }
  // A control in which one of the limits is not missed shows nothing about that one.
  const isMissed = ({ failures }: Outcome): boolean =>
    failures.some((failure) => failure.endsWith('at most'));
  const isBlind = !how.isOn && !outcomes.every(isMissed);
  return {
    counts: outcomes.map(({ counts }) => counts).join('; '),
    failures: isBlind ? [] : outcomes.flatMap(({ failures }) => failures),
  };
}

async function press(kind: Kind, { seconds, isOn }: Press): Promise<Outcome> {
  const crib = new Crib(isOn ? kind.config : {});
  writeFileSync(crib.path('tools/odd-tools.mjs'), oddTools());
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port, connections: LANES });
    // Between the first being sent and answered, and the last one, lies what the limit has seen at least and at most.
    const firstSentAt = performance.now();
    let firstAnsweredAt = 0;
    let lastSentAt = 0;
    let admitted = 0;
    let refused = 0;
    const lane = async (_: unknown, index: number): Promise<void> => {
      while (performance.now() - firstSentAt < seconds * 1000) {
        lastSentAt = performance.now();
        const isThrough = await kind.send(client, index);
        firstAnsweredAt ||= performance.now();
        if (isThrough) admitted++;
        else refused++;
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    const endedAt = performance.now();
    client.close();
    const rate = kind.perMinute / 60_000;
    const most = (kind.burst + (endedAt - firstSentAt) * rate) * 1.01 + kind.cost;
    const least = (kind.burst + (lastSentAt - firstAnsweredAt) * rate) * 0.95 - kind.cost;
    const counted = admitted * kind.cost;
    const failures = [];
    if (counted > most) failures.push(`${counted} admitted, ${Math.floor(most)} at most`);
    if (counted < least && !kind.isAtMost)
      failures.push(`${counted} admitted, ${Math.floor(least)} at least`);
    if (refused === 0) failures.push(nothingShown('nothing was refused'));
    return {
      counts: `${admitted + refused} ${kind.name} in ${seconds} s, ${admitted} admitted (${Math.floor(least / kind.cost)} to ${Math.floor(most / kind.cost)})`,
      failures,
    };
  } finally {
    await crib.close();
  }
}

const calls: Kind = {
  name: 'calls',
  perMinute: PER_MINUTE,
  burst: BURST,
  cost: 1,
  config: { stages: { rateLimit: { perMinute: PER_MINUTE, burst: BURST } } },
  send: async (client) => (await client.call('echo', { nonce: 'x' })).isDone,
};

// So few that all their rounds are over well before the time is.
const FEW = { perMinute: 60, burst: LANES };

// Going on after an answer is free, but not for ever: what one call may do is bounded, and so is what all of them do.
function rounds(): Kind {
  const states = new Map<number, object>();
  return {
    name: 'rounds of questions',
    perMinute: FEW.perMinute * MAX_ROUNDS,
    burst: FEW.burst * MAX_ROUNDS,
    cost: 1,
    config: { stages: { rateLimit: FEW } },
    isAtMost: true,
    async send(client, lane) {
      const body = modern('tools/call', { name: 'ask', arguments: { nonce: 'x' }, ...states.get(lane) });
      const { text } = await client.post(body, { ...headersOf('tools/call'), 'mcp-name': 'ask' });
      const requestState = /"requestState":"([^"]*)"/.exec(text)?.[1];
      const name = /"(sure\d+)":/.exec(text)?.[1] ?? '';
      const inputResponses = { [name]: { action: 'accept', content: { yes: true } } };
      if (requestState === undefined) states.delete(lane);
      else states.set(lane, { requestState, inputResponses });
      return requestState !== undefined;
    },
  };
}

const complete = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'y' } };
const requests: readonly Kind[] = [
  other('handshakes', 10, (client) => client.post(JSON.stringify(handshake('2025-11-25').body), {})),
  other('lists', 1, (client) => client.post(modern('tools/list', {}), headersOf('tools/list'))),
  other('discoveries', 1, (client) =>
    client.post(modern('server/discover', {}), headersOf('server/discover')),
  ),
  other('pings', 1, (client) =>
    client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}', { 'mcp-protocol-version': '2025-06-18' }),
  ),
  other('completions', 1, (client) =>
    client.post(modern('completion/complete', complete), headersOf('completion/complete')),
  ),
];

function other(name: string, cost: number, send: (client: Client) => Promise<{ text: string }>): Kind {
  return {
    name,
    perMinute: REQUESTS,
    burst: REQUESTS,
    cost,
    config: { server: { requestsPerMinute: REQUESTS } },
    send: async (client) => (await send(client)).text.includes('"result":'),
  };
}

function modern(method: string, params: object): string {
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
  const _meta = { ...modernMeta, ...capabilities };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
}

function headersOf(method: string): Record<string, string> {
  return { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
}
