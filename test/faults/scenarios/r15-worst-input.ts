import { writeFileSync } from 'node:fs';
import { within } from '../../within.ts';
import { Client, modernMeta } from '../client.ts';
import { Crib, type Serving } from '../crib.ts';
import { oddTools } from '../odd-tools.ts';
import { against, pause, quantile, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';
import { worstInputs, type WorstInput } from '../worst-inputs.ts';

/** The worst that may be sent, one after the other and all at once, does not keep the server from answering others. */
export const worstInput: Scenario = {
  id: 'R15',
  title: 'the health endpoint answers while the worst legal input of every kind is worked on',
  run: (options) => press(options, { rounds: options.counts === 'full' ? 30 : 3, inputs: worstInputs }),
  control: (options) => press(options, { rounds: 1, inputs: [hog] }),
};

// On a machine of its own; a shared one is given more before it fails.
const TARGET_MS = { health: 200, block: 100 };
const BOUND_MS = { health: 5_000, block: 1_000 };
// Whatever else this machine does can only make it look worse.
const TRIES = 3;
const PATIENCE_MS = 60_000;
const TICK_MS = 30;

const hog: WorstInput = {
  kind: 'hog',
  body: Buffer.from(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'hog', arguments: { nonce: 'x', ms: BOUND_MS.health + 1_000 }, _meta: modernMeta },
    }),
  ),
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'hog' },
  isLegal: true,
};

interface Press {
  readonly rounds: number;
  readonly inputs: readonly WorstInput[];
}

async function press({ report }: RunOptions, { rounds, inputs }: Press): Promise<Outcome> {
  const crib = new Crib({ stages: { audit: { arguments: 'hashed' } } });
  writeFileSync(crib.path('tools/odd-tools.mjs'), oddTools());
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port, connections: 32 });
    const blocks = await oneByOne(client, inputs);
    const worst = [...blocks].toSorted(([, a], [, b]) => b.ms - a.ms);
    for (const [kind, { ms, status }] of worst.slice(0, 12))
      report(`${kind}: ${against(ms, TARGET_MS.block)}, answered with ${status}`);
    const { times, missed } = await allAtOnce(serving, client, { rounds, inputs });
    client.close();
    const longest = Math.max(...times);
    const slow = worst.filter(([, { ms }]) => ms > BOUND_MS.block);
    const failures = slow.map(([kind, { ms }]) => `${kind} blocked the event loop for ${Math.round(ms)} ms`);
    for (const { kind, isLegal } of inputs)
      if (isLegal && blocks.get(kind)!.status !== 200)
        failures.push(`${kind} was answered with ${blocks.get(kind)!.status}`);
    if (missed > 0) failures.push(`/healthz did not answer ${missed} times`);
    if (longest > BOUND_MS.health) failures.push(`/healthz took ${Math.round(longest)} ms`);
    const [[kind, { ms }]] = worst as [(typeof worst)[0]];
    const over = worst.filter(([, { ms: each }]) => each > TARGET_MS.block).map(([each]) => each);
    return {
      counts: `${inputs.length} kinds alone, the longest block ${against(ms, TARGET_MS.block)} (${kind})${over.length > 0 ? `, over the target: ${over.join(', ')}` : ''}; ${rounds} rounds of all at once: /healthz median ${quantile(times, 0.5).toFixed(1)} ms, longest ${against(longest, TARGET_MS.health)} of ${times.length}`,
      failures,
    };
  } finally {
    await crib.close();
  }
}

interface Block {
  readonly ms: number;
  readonly status: number;
}

// How long each of them keeps the event loop from anything else, at the best of some tries.
async function oneByOne(client: Client, inputs: readonly WorstInput[]): Promise<Map<string, Block>> {
  const blocks = new Map<string, Block>();
  await send(client, inputs[0]!);
  for (const input of inputs) {
    let found: Block = { ms: Infinity, status: 0 };
    for (let left = TRIES; left > 0 && found.ms > TARGET_MS.block; left--) {
      await client.call('vitals', {});
      const status = await send(client, input);
      // A delay is noted when the clock of the monitor ticks again.
      await pause(TICK_MS);
      const { blockMs } = JSON.parse((await client.call('vitals', {})).text) as { blockMs: number };
      found = { ms: Math.min(found.ms, blockMs), status };
    }
    blocks.set(input.kind, found);
  }
  return blocks;
}

async function allAtOnce(serving: Serving, client: Client, { rounds, inputs }: Press): Promise<Watch> {
  const watch = watchHealth(serving);
  try {
    for (let round = 0; round < rounds; round++) {
      const long = client.call('big', { nonce: 'x', bytes: 900_000 });
      await Promise.all([...inputs.map((input) => send(client, input)), long]);
    }
  } finally {
    await watch.stop();
  }
  return watch;
}

// A stream is answered when it begins.
async function send(client: Client, { kind, body, headers }: WorstInput): Promise<number> {
  const status = client.begin(body, headers);
  return within(PATIENCE_MS, `an answer to ${kind}`, status);
}

interface Watch {
  readonly times: number[];
  missed: number;
  stop(): Promise<void>;
}

function watchHealth(serving: Serving): Watch {
  const over = { isSo: false };
  const watch: Watch = {
    times: [],
    missed: 0,
    async stop() {
      over.isSo = true;
      await watching;
    },
  };
  const watching = (async () => {
    while (!over.isSo) {
      const startedAt = performance.now();
      if ((await serving.look('/healthz', 30_000)) !== 200) watch.missed++;
      watch.times.push(performance.now() - startedAt);
      await pause(10);
    }
  })();
  return watch;
}
