import { Client } from '../client.ts';
import { Crib } from '../crib.ts';
import { nothingShown, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A limit lets through what it says, and no more. */
export const limiter: Scenario = {
  id: 'R19',
  title: 'a limit admits what it promises over HTTP, within a hundredth and one call',
  run: (options) => press(options, { seconds: options.counts === 'full' ? 30 : 3, isOn: true }),
  control: (options) => press(options, { seconds: 1, isOn: false }),
};

const PER_MINUTE = 1_200;
const BURST = 50;

async function press(
  { report }: RunOptions,
  { seconds, isOn }: { seconds: number; isOn: boolean },
): Promise<Outcome> {
  const crib = new Crib({ stages: { rateLimit: isOn && { perMinute: PER_MINUTE, burst: BURST } } });
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port, connections: 8 });
    // Between the first call being sent and answered, and the last one, lies what the limit has seen at least and at most.
    const firstSentAt = performance.now();
    let firstAnsweredAt = 0;
    let lastSentAt = 0;
    let admitted = 0;
    let refused = 0;
    const lane = async (): Promise<void> => {
      while (performance.now() - firstSentAt < seconds * 1000) {
        lastSentAt = performance.now();
        const { isDone } = await client.call('echo', { nonce: 'x' });
        firstAnsweredAt ||= performance.now();
        if (isDone) admitted++;
        else refused++;
      }
    };
    await Promise.all(Array.from({ length: 8 }, lane));
    const endedAt = performance.now();
    client.close();
    const rate = PER_MINUTE / 60_000;
    const most = (BURST + (endedAt - firstSentAt) * rate) * 1.01 + 1;
    const least = (BURST + (lastSentAt - firstAnsweredAt) * rate) * 0.95 - 1;
    report(
      `${admitted} admitted, ${refused} refused; entitled to ${Math.floor(least)} to ${Math.floor(most)}`,
    );
    const failures = [];
    if (admitted > most) failures.push(`${admitted} calls admitted, ${Math.floor(most)} at most`);
    if (admitted < least) failures.push(`${admitted} calls admitted, ${Math.floor(least)} at least`);
    if (refused === 0) failures.push(nothingShown('nothing was refused'));
    return { counts: `${admitted + refused} calls in ${seconds} s, ${admitted} admitted`, failures };
  } finally {
    await crib.close();
  }
}
