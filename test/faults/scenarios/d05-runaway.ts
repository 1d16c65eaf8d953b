import { Client } from '../client.ts';
import { Crib } from '../crib.ts';
import { eventually, pause, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A call whose client has left is stopped. */
export const runaway: Scenario = {
  id: 'D5',
  title: 'calls whose clients disconnect are stopped, and nothing happens afterwards',
  run: (options) => hangUp(options, 'heedful'),
  // A tool that takes no notice of being stopped.
  control: (options) => hangUp(options, 'deaf'),
};

const CALLS = 100;
const MS = 2_500;

async function hangUp({ report }: RunOptions, tool: 'heedful' | 'deaf'): Promise<Outcome> {
  const crib = new Crib();
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port, connections: CALLS });
    const answers = Array.from({ length: CALLS }, (_, index) =>
      client.call(tool, { nonce: `n${index}`, ms: MS }).then(
        () => 1,
        () => 0,
      ),
    );
    await eventually('all calls run', () => count(crib, 'begun') === CALLS);
    const leftAt = performance.now();
    client.close();
    const answered = (await Promise.all(answers)).reduce<number>((sum, one) => sum + one, 0);
    await eventually('all calls are stopped', () => count(crib, 'stopped') === CALLS, 2_000).catch(() => {});
    const stopped = count(crib, 'stopped');
    report(
      `${stopped} of ${CALLS} calls stopped ${Math.round(performance.now() - leftAt)} ms after their clients left`,
    );
    // Until they would have ended by themselves.
    await pause(Math.max(0, MS + 300 - (performance.now() - leftAt)));
    const ended = count(crib, 'ended');
    const rows = (await crib.rows()).filter(({ kind, tool: name }) => kind === 'call' && name === tool);
    const failures = [];
    if (stopped !== CALLS) failures.push(`${CALLS - stopped} calls were not stopped`);
    if (ended > 0) failures.push(`${ended} calls went on to their end`);
    if (answered > 0) failures.push(`${answered} calls were answered`);
    if (rows.length !== CALLS) failures.push(`${rows.length} rows for ${CALLS} calls`);
    return {
      counts: `${CALLS} calls, ${stopped} stopped, ${ended} ended, outcomes ${[...new Set(rows.map(({ outcome }) => outcome))].join(', ')}`,
      failures,
    };
  } finally {
    await crib.close();
  }
}

function count(crib: Crib, what: 'begun' | 'stopped' | 'ended'): number {
  return crib.notes().filter((line) => line.startsWith(what)).length;
}
