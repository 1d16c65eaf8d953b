import type { ConfigInput } from '../../../src/gateway/settings/config.ts';
import { Client } from '../client.ts';
import { Crib, type Row, type Serving } from '../crib.ts';
import { Load, withoutRow } from '../load.ts';
import {
  eventually,
  nothingShown,
  pause,
  Random,
  summarise,
  type Outcome,
  type RunOptions,
  type Scenario,
} from '../scenario.ts';

/** A configuration can be replaced under load, and one that cannot be used changes nothing. */
export const reload: Scenario = {
  id: 'R17',
  title: 'reloads under load fail no call, invalid ones change nothing, and every audit row names its policy',
  async run(options) {
    const isFull = options.counts === 'full';
    const { counts, failures } = await reloadOften(options, { reloads: isFull ? 1_000 : 50, how: 'reload' });
    const pairs = isFull ? 200 : 12;
    const stale = await changeTwice(options, pairs);
    return { counts: `${counts}, ${pairs} changes right after another`, failures: [...failures, ...stale] };
  },
  control: (options) => reloadOften(options, { reloads: 2, how: 'restart' }),
};

const settings = (seconds: number): ConfigInput => ({ stages: { timeout: { seconds } } });

async function reloadOften(
  { seed, report }: RunOptions,
  { reloads, how }: { readonly reloads: number; readonly how: 'reload' | 'restart' },
): Promise<Outcome> {
  const random = new Random(seed);
  const crib = new Crib(settings(30));
  try {
    let serving = await crib.start();
    let last = 0;
    const make = () => ({ tool: random.next() < 0.5 ? 'echo' : 'effect', args: { nonce: `n${++last}` } });
    const load = new Load({ port: serving.port, lanes: 4, goesOn: true, make });
    await eventually('calls are answered', () => load.acknowledged.size > 10);
    let invalid = 0;
    for (let count = 1; count <= reloads; count++) {
      const isInvalid = count % 10 === 5;
      if (isInvalid) invalid++;
      if (isInvalid) crib.write(random.pick(BROKEN));
      else crib.configure(settings(30 + count / 100));
      if (how === 'reload')
        await takesNotice(serving, isInvalid ? 'cannot be used' : 'was loaded again', {
          before: isInvalid ? invalid : count - invalid,
        });
      else {
        await serving.kill();
        await pause(50);
        serving = await crib.start();
      }
    }
    await load.stop();
    report(`${reloads} reloads, ${invalid} of them invalid, ${load.acknowledged.size} calls meanwhile`);
    serving.signal('SIGTERM');
    await serving.ended();
    crib.configure(settings(30));
    const rows = await crib.rows();
    const failures = [
      ...summarise(
        'calls failed',
        load.refused.map(({ text }) => text),
      ),
      ...(load.lost > 0 ? [`${load.lost} connections failed`] : []),
      ...summarise('acknowledged calls without a row', withoutRow(load.acknowledged, rows)),
      ...policiesOf(rows, reloads - invalid),
      ...(await crib.verify()).failures,
    ];
    return { counts: `${reloads} reloads, ${invalid} invalid, ${load.acknowledged.size} calls`, failures };
  } finally {
    await crib.close();
  }
}

// A file is often saved twice in a row: the second save may come while the first is read, and must take effect.
async function changeTwice({ seed, report }: RunOptions, pairs: number): Promise<string[]> {
  const random = new Random(seed);
  const offering = (ready: object): ConfigInput => ({ tools: { modules: ['./tools/*.mjs'], ready } });
  const crib = new Crib(offering({}));
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port });
    for (let pair = 1; pair <= pairs; pair++) {
      crib.configure(offering({ ping: {} }));
      // The server looks a tenth of a second after the file has changed.
      const afterMs = random.between(98, 122);
      await pause(afterMs);
      crib.configure(offering({}));
      const isGone = async (): Promise<boolean> => !(await client.call('ping', {})).isDone;
      await pause(300);
      if (
        await eventually('the tool is gone', isGone, 4_000).then(
          () => true,
          () => false,
        )
      )
        continue;
      report(`pair ${pair}: a change ${afterMs} ms after another has no effect`);
      client.close();
      return [`of two changes ${afterMs} ms apart, the second was not noticed within 4 s`];
    }
    client.close();
    report(`${pairs} pairs of changes: the last one was always in force`);
    return [];
  } finally {
    await crib.close();
  }
}

const BROKEN = [
  'stages: { timeout: { seconds: -1 } }',
  'stages: { unheardOf: {} }',
  'stages: [',
  'access: [{ tools: ["*"], when: "caller.id ==" }]',
  'server: { listen: 99999999 }',
];

// One signal for each change: the file is also watched, but a change that was read already is not read again.
async function takesNotice(
  serving: Serving,
  words: string,
  { before }: { readonly before: number },
): Promise<void> {
  serving.signal('SIGHUP');
  await eventually(
    `the server says that the configuration ${words}`,
    () => serving.log.split(words).length - 1 >= before,
  );
}

function policiesOf(rows: readonly Row[], reloads: number): string[] {
  const calls = rows.filter(({ kind }) => kind === 'call' || kind === 'intent');
  const nameless = calls.filter(({ policy }) => policy === undefined || policy === '');
  const loaded = rows.filter(({ kind }) => kind === 'configuration').map(({ policy }) => policy);
  const used = new Set(calls.map(({ policy }) => policy));
  // The first configuration was not loaded again by anybody.
  const foreign = [...used].filter((policy) => !loaded.includes(policy));
  return [
    ...summarise(
      'rows without a policy',
      nameless.map(({ chain, seq }) => `${chain} ${seq}`),
    ),
    // A change may be noticed twice: by the signal and by watching the file.
    ...(loaded.length >= reloads ? [] : [`${loaded.length} reloads on record, not ${reloads}`]),
    ...(foreign.length > 1 ? [`${foreign.length} policies in rows that were never loaded`] : []),
    ...(used.size > 1 ? [] : [nothingShown('all calls were made under one policy')]),
  ];
}
