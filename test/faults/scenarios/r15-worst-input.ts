import { jsonLimits } from '../../../src/protocol/json-scan.ts';
import { Client, modernMeta } from '../client.ts';
import { Crib, type Serving } from '../crib.ts';
import { against, pause, quantile, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** The worst that may be sent, all at once, does not keep the server from answering others. */
export const worstInput: Scenario = {
  id: 'R15',
  title: 'the health endpoint answers while the worst legal input of every kind is worked on',
  run: (options) => press(options, { rounds: options.counts === 'full' ? 100 : 8, hog: false }),
  control: (options) => press(options, { rounds: 1, hog: true }),
};

// On a machine of its own; a shared one is given more before it fails.
const TARGET_MS = { health: 200, loop: 100 };
const BOUND_MS = 5_000;
const SIZE = 1_000_000;

async function press(
  { report }: RunOptions,
  { rounds, hog }: { rounds: number; hog: boolean },
): Promise<Outcome> {
  const crib = new Crib({ stages: { audit: { arguments: 'hashed' } } });
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port, connections: 32 });
    await client.call('lag', { nonce: 'x' });
    const watch = watchHealth(serving);
    const statuses = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const work = hog
        ? [
            client
              .call('hog', { nonce: 'x', ms: BOUND_MS + 1_000 })
              .then(({ status }) => ['hog', status] as const),
          ]
        : worst(client);
      for (const [kind, status] of await Promise.all(work))
        statuses.set(`${kind} ${status}`, (statuses.get(`${kind} ${status}`) ?? 0) + 1);
    }
    const { times, missed } = await watch();
    const { text } = await client.call('lag', { nonce: 'x' });
    const lag = Number(text);
    client.close();
    const longest = Math.max(...times);
    report(`answers: ${[...statuses].map(([what, count]) => `${what} x ${count}`).join(', ')}`);
    const failures: string[] = [];
    const refused = [...statuses.keys()].filter((what) => !what.endsWith(' 200'));
    if (refused.length > 0) failures.push(`not legal after all: ${refused.join(', ')}`);
    if (missed > 0) failures.push(`/healthz did not answer ${missed} times`);
    if (longest > BOUND_MS) failures.push(`/healthz took ${Math.round(longest)} ms`);
    const figures = `/healthz median ${quantile(times, 0.5).toFixed(1)} ms, longest ${against(longest, TARGET_MS.health)} of ${times.length}, event loop p99.9 ${against(lag, TARGET_MS.loop)} late`;
    return {
      counts: `${rounds} rounds of ${worst.kinds} kinds; ${figures}`,
      failures,
    };
  } finally {
    await crib.close();
  }
}

function watchHealth(serving: Serving): () => Promise<{ times: number[]; missed: number }> {
  const times: number[] = [];
  let missed = 0;
  const over = { isSo: false };
  const watching = (async () => {
    while (!over.isSo) {
      const startedAt = performance.now();
      if ((await serving.look('/healthz', 30_000)) !== 200) missed++;
      times.push(performance.now() - startedAt);
      await pause(10);
    }
  })();
  return async () => {
    over.isSo = true;
    await watching;
    return { times, missed };
  };
}

// Each is as large as a message may be, in one of the ways in which it may be large.
const { values, keys, items, depth } = jsonLimits;
const ITEMS = values - 100;
const LENGTH = Math.floor(SIZE / ITEMS) - 1;
const inputs: readonly (readonly [kind: string, load: string])[] = [
  ['long text', JSON.stringify('a'.repeat(SIZE))],
  ['escapes', `"${'\\u0041'.repeat(SIZE / 6)}"`],
  ['wide characters', JSON.stringify('𝔘'.repeat(SIZE / 4))],
  ['hidden characters', JSON.stringify('\u200b\u202e'.repeat(SIZE / 6))],
  ['many numbers', list(ITEMS, () => '1')],
  ['long numbers', list(ITEMS, () => '1.797e308')],
  ['many texts', list(ITEMS, () => JSON.stringify('b'.repeat(LENGTH - 3)))],
  ['many objects', list(ITEMS / 2 - 1, (index) => `{"a${index}":1}`)],
  ['many keys', `{${Array.from({ length: keys - 1 }, (_, index) => `"k${index}":${index}`).join(',')}}`],
  [
    'colliding keys',
    `{${Array.from({ length: keys - 1 }, (_, index) => `"${index * 65_536}":0`).join(',')}}`,
  ],
  ['deep nesting', `${'['.repeat(depth - 4)}${']'.repeat(depth - 4)}`],
  ['secrets', JSON.stringify('ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa '.repeat(SIZE / 40))],
  ['almost patterns', JSON.stringify(`${'a@'.repeat(SIZE / 2 - 10)}!`)],
];

// A list may have only so many items, but may hold lists.
function list(length: number, item: (index: number) => string): string {
  const lists: string[] = [];
  for (let from = 0; from < length; from += items) {
    const size = Math.min(items, Math.floor(length - from));
    lists.push(`[${Array.from({ length: size }, (_, index) => item(from + index)).join(',')}]`);
  }
  return `[${lists.join(',')}]`;
}

const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
const bodies = inputs.map(([kind, load]) => {
  const params = `{"_meta":${JSON.stringify(modernMeta)},"name":"echo","arguments":{"nonce":"x","load":${load}}}`;
  return [kind, Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)] as const;
});

function worst(client: Client): Promise<readonly [string, number]>[] {
  const sent = bodies.map(async ([kind, body]) => {
    const { response } = await client.post(body, headers);
    return [kind, response.statusCode ?? 0] as const;
  });
  const answered = client
    .call('big', { nonce: 'x', bytes: 900_000 })
    .then(({ status }) => ['long answer', status] as const);
  return [...sent, answered];
}
worst.kinds = inputs.length + 1;
