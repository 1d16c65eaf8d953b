import { Client } from '../client.ts';
import { Crib } from '../crib.ts';
import { eventually, summarise, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A call with a key has its effect once. */
export const once: Scenario = {
  id: 'R6',
  title: 'a call with an idempotency key runs once, however often it is sent and whenever the server dies',
  run: (options) => repeat(options, { isOn: true }),
  control: (options) => repeat(options, { isOn: false }),
};

const CALLS = 1_000;
const keyed = (key: string) => ({ meta: { 'dev.toolcrib/idempotencyKey': key } });

async function repeat({ report }: RunOptions, { isOn }: { readonly isOn: boolean }): Promise<Outcome> {
  const crib = new Crib(isOn ? {} : { stages: { idempotency: false } });
  const failures: string[] = [];
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port, connections: 100 });
    const args = { nonce: 'once', ms: 5 };
    const answers = await Promise.all(
      Array.from({ length: CALLS }, () => client.call('effect', args, keyed('k1'))),
    );
    const effects = crib.notes().length;
    const done = answers.filter(({ isDone }) => isDone).length;
    report(
      `${CALLS} calls with one key: ${effects} effects, ${done} answered with its outcome, the others asked to wait`,
    );
    if (effects !== 1) failures.push(`${effects} effects of one key`);
    const odd = answers.filter(
      ({ isDone, text }) => !isDone && !text.includes('still running') && !text.includes('not known'),
    );
    failures.push(
      ...summarise(
        'answers that say neither',
        odd.map(({ text }) => text),
      ),
    );
    const again = await client.call('effect', args, keyed('k1'));
    if (!again.isDone || again.text !== 'once')
      failures.push(`a repeated call was answered with: ${again.text}`);
    const other = await client.call('effect', { nonce: 'other' }, keyed('k1'));
    if (other.isDone || !other.text.includes('another call'))
      failures.push(`other arguments were answered with: ${other.text}`);
    // The tool has done its work and has not answered yet.
    client.call('effect', { nonce: 'cut', afterMs: 60_000 }, keyed('k2')).catch(() => {});
    await eventually('the effect is there', () => crib.notes().includes('cut'));
    await serving.kill();
    client.close();
    failures.push(...(await retryAfterCrash(crib, { report, isOn })));
    return { counts: `${CALLS} parallel calls, other arguments, a crash and 20 retries`, failures };
  } finally {
    await crib.close();
  }
}

async function retryAfterCrash(
  crib: Crib,
  { report, isOn }: { readonly report: RunOptions['report']; readonly isOn: boolean },
): Promise<string[]> {
  const serving = await crib.start();
  const client = new Client({ port: serving.port });
  const call = () =>
    client.call(
      'effect',
      { nonce: 'cut', afterMs: 60_000 },
      { ...keyed('k2'), signal: AbortSignal.timeout(isOn ? 5_000 : 1_000) },
    );
  const retries = await Promise.all(
    Array.from({ length: 20 }, () =>
      call().catch((error: unknown) => ({ text: String(error), isDone: true })),
    ),
  );
  client.close();
  const effects = crib.notes().filter((note) => note === 'cut').length;
  report(`after a crash midway, 20 retries: ${effects} effects in all`);
  const wrong = retries.filter(({ isDone, text }) => isDone || !text.includes('not known'));
  return [
    ...(effects === 1 ? [] : [`${effects} effects of the key that a crash cut off`]),
    ...summarise(
      'retries not told that the outcome is unknown',
      wrong.map(({ text }) => text),
    ),
  ];
}
