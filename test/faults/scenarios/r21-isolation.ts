import { Client } from '../client.ts';
import { Crib, type Serving } from '../crib.ts';
import { phases } from '../hostile.ts';
import { besiegeTwice } from '../lateness.ts';
import { Load } from '../load.ts';
import {
  against,
  eventually,
  nothingShown,
  quantile,
  summarise,
  type Outcome,
  type RunOptions,
  type Scenario,
} from '../scenario.ts';

/** A tenant that calls far too often is alone with the consequences. */
export const isolation: Scenario = {
  id: 'R21',
  title:
    'a tenant a hundred times above its limit, or hostile in another way, does not make other tenants’ calls fail',
  async run(options) {
    const isFull = options.counts === 'full';
    const groups = isFull ? 20 : 1;
    const first = await disturb(options, { groups, isShared: false });
    // Only what is late at another time as well is late for a reason of ours.
    const loud = first.isLate ? await disturb(options, { groups, isShared: false }) : first;
    const hostile = await harm(options, isFull ? 10 : 1.5);
    return {
      counts: `${loud.counts}; ${hostile.counts}`,
      failures: [...loud.failures, ...hostile.failures],
    };
  },
  // All of them are one tenant, which has one allowance.
  control: (options) => disturb(options, { groups: 1, isShared: true }),
};

// How many callers there are, and how often each calls: before the noise, with it, and with as much as possible.
const OTHERS = 3;
const CALLS = 40;
const FIRST_CALLS = 10;
const PER_MINUTE = 3 * CALLS + FIRST_CALLS + 10;
const MULTIPLE = 100;
const GROWTH_PERCENT = 20;
// A machine that others use is given more than the target.
const BOUND_TIMES = 5;
const BOUND_MS = 100;

async function disturb(
  { report }: RunOptions,
  { groups, isShared }: { groups: number; isShared: boolean },
): Promise<Outcome & { readonly isLate: boolean }> {
  const crib = new Crib({
    auth: { keys: {} },
    access: [{ roles: ['tester'], tools: ['*'] }],
    stages: { rateLimit: { perMinute: 1_000_000, perTenant: PER_MINUTE }, concurrency: {} },
  });
  const names = Array.from({ length: groups * OTHERS }, (_, index) => `other${index}`);
  const people = ['noisy', ...names].map((caller) => ({ tenant: isShared ? 'all' : caller, caller }));
  try {
    const [noisy, ...keys] = (await crib.admit(people)).map(({ key }) => key);
    const serving = await crib.start();
    // The first calls of a process are slow, noise or not.
    await callInGroups(serving.port, keys, FIRST_CALLS);
    const quiet = await callInGroups(serving.port, keys);
    // A fifth more than is needed, since it has to be reached.
    const perSecond = (PER_MINUTE / 60) * MULTIPLE * 1.2;
    const beside = await besideNoise({ serving, noisy: noisy!, perSecond }, keys);
    const most = await besideNoise({ serving, noisy: noisy! }, keys);
    const multiples = [beside, most].map(({ rate }) => Math.round(rate / (PER_MINUTE / 60)));
    report(`noisy: ${multiples.join(' and ')} times its limit; others before: ${timesOf(quiet.times)}`);
    report(`others beside it: ${timesOf(beside.times)}; beside all it can do: ${timesOf(most.times)}`);
    const failures = summarise('calls of others refused', [...beside.refused, ...most.refused]);
    if (beside.noise === 0 || most.noise === 0)
      failures.push(nothingShown('the noisy tenant was not refused'));
    for (const multiple of multiples.filter((reached) => reached < MULTIPLE))
      failures.push(
        nothingShown(`the noisy tenant called ${multiple} times its limit, not ${MULTIPLE} times`),
      );
    const [alone, late] = [quiet, beside].map(({ times }) => quantile(times, 0.9)) as [number, number];
    const isLate = late > alone * BOUND_TIMES + BOUND_MS;
    if (isLate)
      failures.push(`others' p90 was ${Math.round(late)} ms beside it, ${Math.round(alone)} ms before`);
    const growth = (quantile(beside.times, 0.99) / quantile(quiet.times, 0.99) - 1) * 100;
    return {
      counts: `2 x ${beside.times.length} calls of others beside ${multiples.join(' and ')} times the limit, ${beside.noise + most.noise} refused; others' p99 grew by ${against(growth, GROWTH_PERCENT, '%')} at the former, ${timesOf(quiet.times)} to ${timesOf(beside.times)}`,
      failures,
      isLate,
    };
  } finally {
    await crib.close();
  }
}

// Everything else a tenant can do to others, each for so long.
async function harm({ report }: RunOptions, seconds: number): Promise<Outcome> {
  const siege = { phases, rotations: 1, seconds, aloneSeconds: 2, report };
  const { found, failures } = await besiegeTwice(siege);
  const heard = [...found.phases.values()];
  const calls = heard.reduce((sum, { times }) => sum + times.length, 0);
  const refused = heard.flatMap((each) => each.refused);
  return {
    counts: `${calls} calls of another beside ${phases.length} kinds of harm, ${refused.length} refused`,
    failures: [
      ...summarise('calls beside a hostile tenant refused', refused),
      ...found.failures,
      ...failures,
    ],
  };
}

interface Noise {
  readonly serving: Serving;
  readonly noisy: string;
  /** As fast as it can unless set. */
  readonly perSecond?: number;
}

interface Heard {
  readonly refused: readonly string[];
  readonly times: readonly number[];
}

async function besideNoise(
  { serving: { port }, noisy, perSecond }: Noise,
  keys: readonly string[],
): Promise<Heard & { readonly rate: number; readonly noise: number }> {
  const make = () => ({ tool: 'echo', args: { nonce: 'noise' } });
  const load = new Load({ port, key: noisy, lanes: 16, make, ...(perSecond !== undefined && { perSecond }) });
  // Only then has it used up what it may.
  await eventually('the noisy tenant is refused', () => load.refused.length > 0);
  const heard = await callInGroups(port, keys);
  const { rate } = load;
  await load.stop();
  return { ...heard, rate, noise: load.refused.length };
}

async function callInGroups(port: number, keys: readonly string[], calls = CALLS): Promise<Heard> {
  const heard: Heard[] = [];
  for (let from = 0; from < keys.length; from += OTHERS)
    heard.push(await callInTurn(port, keys.slice(from, from + OTHERS), calls));
  return {
    refused: heard.flatMap(({ refused }) => refused),
    times: heard.flatMap(({ times }) => times),
  };
}

async function callInTurn(
  port: number,
  keys: readonly string[],
  calls: number,
): Promise<{ refused: string[]; times: number[] }> {
  const refused: string[] = [];
  const times: number[] = [];
  await Promise.all(
    keys.map(async (key) => {
      const client = new Client({ port, key });
      for (let call = 0; call < calls; call++) {
        const startedAt = performance.now();
        const { isDone, text } = await client.call('echo', { nonce: 'x' });
        times.push(performance.now() - startedAt);
        if (!isDone) refused.push(text);
      }
      client.close();
    }),
  );
  return { refused, times };
}

function timesOf(times: readonly number[]): string {
  return `p99 ${quantile(times, 0.99).toFixed(1)} ms`;
}
