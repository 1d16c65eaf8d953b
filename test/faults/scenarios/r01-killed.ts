import { Crib } from '../crib.ts';
import { effectsWithoutIntent, Load, repeatedNumbers, withoutRow } from '../load.ts';
import {
  against,
  eventually,
  nothingShown,
  pause,
  Random,
  summarise,
  type Outcome,
  type RunOptions,
  type Scenario,
} from '../scenario.ts';

/** Killed at any moment, the server has every call on record that it acknowledged. */
export const killed: Scenario = {
  id: 'R1',
  title: 'a server that is killed under load has every acknowledged call on record',
  run: (options) => killRepeatedly(options, { kills: options.counts === 'full' ? 200 : 10 }),
  control: (options) => killRepeatedly(options, { kills: 1, audit: false }),
};

const READY_MS = 2_000;

async function killRepeatedly(
  { seed, report }: RunOptions,
  { kills, audit }: { readonly kills: number; readonly audit?: false },
): Promise<Outcome> {
  const random = new Random(seed);
  const crib = new Crib(audit === false ? { stages: { audit } } : {});
  const acknowledged = new Map<string, string>();
  const failures: string[] = [];
  let lastNonce = 0;
  let slowestMs = 0;
  try {
    for (let kill = 1; kill <= kills; kill++) {
      const serving = await crib.start();
      slowestMs = Math.max(slowestMs, serving.readyMs);
      const make = () => ({
        tool: random.next() < 0.5 ? 'echo' : 'effect',
        args: { nonce: `n${++lastNonce}` },
      });
      const load = new Load({ port: serving.port, lanes: 16, make });
      const answers = random.between(1, 200);
      await eventually('calls are answered', () => load.acknowledged.size + load.lost >= answers);
      const afterMs = random.between(0, 50);
      await pause(afterMs);
      await serving.kill();
      await load.stop();
      for (const [nonce, tool] of load.acknowledged) acknowledged.set(nonce, tool);
      if (load.refused.length > 0)
        failures.push(
          ...summarise(
            'calls refused',
            load.refused.map(({ text }) => text),
          ),
        );
      if (kill % 5 === 0) failures.push(...(await crib.verify()).failures);
      report(
        `kill ${kill} ${afterMs} ms after ${answers} answers, ${load.acknowledged.size} acknowledged, ready after ${Math.round(serving.readyMs)} ms`,
      );
    }
    const last = await crib.start();
    slowestMs = Math.max(slowestMs, last.readyMs);
    const rows = await crib.rows();
    await last.kill();
    failures.push(...summarise('acknowledged calls without a row', withoutRow(acknowledged, rows)));
    failures.push(...effectsWithoutIntent(crib.notes(), rows));
    failures.push(...summarise('repeated sequence numbers', repeatedNumbers(rows)));
    failures.push(...(await crib.verify()).failures);
    if (acknowledged.size === 0) failures.push(nothingShown('no call was acknowledged'));
    return {
      counts: `${kills} kills, ${acknowledged.size} acknowledged calls, slowest back to ready ${against(slowestMs, READY_MS)}`,
      failures,
    };
  } finally {
    await crib.close();
  }
}
