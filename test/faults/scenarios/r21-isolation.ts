import { Client } from '../client.ts';
import { Crib } from '../crib.ts';
import { Load } from '../load.ts';
import { pause, summarise, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A tenant that calls far too often is alone with the consequences. */
export const isolation: Scenario = {
  id: 'R21',
  title: 'a tenant far above its limit causes no refusal of the others',
  run: (options) => disturb(options, { calls: options.counts === 'full' ? 2_000 : 100, isShared: false }),
  // All of them are one tenant, which has one allowance.
  control: (options) => disturb(options, { calls: 50, isShared: true }),
};

const OTHERS = 3;

async function disturb(
  { report }: RunOptions,
  { calls, isShared }: { calls: number; isShared: boolean },
): Promise<Outcome> {
  const perTenant = calls + 10;
  const crib = new Crib({
    auth: { keys: {} },
    access: [{ roles: ['tester'], tools: ['*'] }],
    stages: { rateLimit: { perMinute: 1_000_000, perTenant }, concurrency: {} },
  });
  const people = ['noisy', 'one', 'two', 'three'].map((caller) => ({
    tenant: isShared ? 'all' : caller,
    caller,
  }));
  try {
    const [noisy, ...keys] = (await crib.admit(people)).map(({ key }) => key);
    const serving = await crib.start();
    const quiet = await callInTurn(serving.port, keys, 20);
    const load = new Load({
      port: serving.port,
      key: noisy!,
      lanes: 16,
      make: () => ({ tool: 'echo', args: { nonce: 'noise' } }),
    });
    await pause(300);
    const { refused, times } = await callInTurn(serving.port, keys, Math.floor(calls / 2));
    await load.stop();
    report(
      `noisy: ${load.refused.length} of ${load.refused.length + load.acknowledged.size} refused; others: ${refused.length} refused`,
    );
    const figures = `others' p99 ${p99(times)} ms, ${p99(quiet.times)} ms before`;
    const failures = summarise('calls of others refused', refused);
    if (load.refused.length === 0) failures.push('the noisy tenant was not refused, so nothing was shown');
    return {
      counts: `${OTHERS} x ${Math.floor(calls / 2)} calls beside ${load.refused.length} refused ones; ${figures}`,
      failures,
    };
  } finally {
    await crib.close();
  }
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

function p99(times: readonly number[]): string {
  return (times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0).toFixed(1);
}
