import { Crib } from '../crib.ts';
import { effectsWithoutIntent, Load } from '../load.ts';
import {
  eventually,
  nothingShown,
  pause,
  Random,
  type Outcome,
  type RunOptions,
  type Scenario,
} from '../scenario.ts';

/** Every effect of a tool is on record, even when its process died before the outcome was known. */
export const noUnrecordedEffect: Scenario = {
  id: 'R5',
  title: 'every effect has an intent on record, and every intent has an outcome, even if it is unknown',
  run: (options) => killMidway(options, { kills: options.counts === 'full' ? 1_000 : 50 }),
  control: (options) => killMidway(options, { kills: 3, audit: false }),
};

const LANES = 2;

async function killMidway(
  { seed, report }: RunOptions,
  { kills, audit }: { readonly kills: number; readonly audit?: false },
): Promise<Outcome> {
  const cribs = Array.from(
    { length: Math.min(LANES, kills) },
    () => new Crib(audit === false ? { stages: { audit } } : {}),
  );
  const failures: string[] = [];
  let effects = 0;
  let unknown = 0;
  try {
    await Promise.all(
      cribs.map(async (crib, lane) => {
        await killOften({
          crib,
          random: new Random(seed + lane),
          report,
          kills: Math.ceil(kills / cribs.length),
        });
        const last = await crib.start();
        const rows = await crib.rows();
        await last.kill();
        effects += crib.notes().length;
        unknown += rows.filter(({ outcome }) => outcome === 'unknown').length;
        failures.push(...effectsWithoutIntent(crib.notes(), rows), ...(await crib.verify()).failures);
      }),
    );
    if (effects === 0) failures.push(nothingShown('there was no effect'));
    if (unknown === 0) failures.push(nothingShown('no kill fell between an intent and its outcome'));
    return { counts: `${kills} kills, ${effects} effects, ${unknown} outcomes unknown`, failures };
  } finally {
    for (const crib of cribs) await crib.close();
  }
}

interface Killing {
  readonly crib: Crib;
  readonly random: Random;
  readonly report: RunOptions['report'];
  readonly kills: number;
}

async function killOften({ crib, random, report, kills }: Killing): Promise<void> {
  let last = 0;
  for (let kill = 1; kill <= kills; kill++) {
    const serving = await crib.start();
    const make = () => ({
      tool: 'effect',
      args: { nonce: `n${++last}`, ms: random.between(0, 3), afterMs: random.between(0, 3) },
    });
    const load = new Load({ port: serving.port, lanes: 8, make });
    const answers = random.between(0, 60);
    await eventually('calls are answered', () => load.acknowledged.size + load.lost >= answers);
    const afterMs = random.between(0, 20);
    await pause(afterMs);
    await serving.kill();
    await load.stop();
    report(`kill ${kill} ${afterMs} ms after ${answers} answers, ${crib.notes().length} effects so far`);
  }
}
