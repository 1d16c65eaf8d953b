import type { IncomingMessage } from 'node:http';
import { Client, readAll } from '../client.ts';
import { Crib, type Person } from '../crib.ts';
import { withoutRow } from '../load.ts';
import { against, eventually, summarise, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A server that is told to stop finishes what it has begun. */
export const gracefulStop: Scenario = {
  id: 'R16',
  title:
    'SIGTERM loses no running call and ends streams properly, and a second SIGTERM ends the server at once',
  async run(options) {
    const isFull = options.counts === 'full';
    const first = await stopUnderLoad(options, {
      calls: isFull ? 10_000 : 200,
      streams: isFull ? 5_000 : 100,
      how: 'SIGTERM',
    });
    const again = await stopTwice(options);
    return {
      counts: `${first.counts}, second SIGTERM ${against(again.ms, TARGET_MS.second)}`,
      failures: [...first.failures, ...again.failures],
    };
  },
  control: (options) => stopUnderLoad(options, { calls: 50, streams: 10, how: 'SIGKILL' }),
};

// The drain is the default of the configuration.
const TARGET_MS = { unready: 100, exit: 30_000 + 2_000, second: 1_000 };

interface Stop {
  readonly calls: number;
  readonly streams: number;
  readonly how: 'SIGTERM' | 'SIGKILL';
}

// Half of what one caller may hold open.
const PER_CALLER = 50;

async function stopUnderLoad(
  { report, counts }: RunOptions,
  { calls, streams, how }: Stop,
): Promise<Outcome> {
  const crib = new Crib(guarded);
  const callers = Math.max(2, Math.ceil(streams / PER_CALLER));
  try {
    const keys = await crib.admit(peopleOf(callers));
    const serving = await crib.start();
    const clients = keys.map(({ key }) => new Client({ port: serving.port, key, connections: 10_000 }));
    const open = await inGroups(streams, async (index) => clients[index % callers]!.listen());
    const ends = Promise.allSettled(open.map(readAll));
    const acknowledged = new Map<string, string>();
    const lost: string[] = [];
    const ms = counts === 'full' ? 20_000 : 2_000;
    const answers = Array.from({ length: calls }, async (_, index) => {
      const nonce = `n${index}`;
      const tool = index % 2 === 0 ? 'slow' : 'effect';
      try {
        const { isDone, text } = await clients[index % callers]!.call(tool, { nonce, ms });
        if (isDone && text === nonce) acknowledged.set(nonce, tool);
        else lost.push(`${nonce}: ${text}`);
      } catch (error) {
        lost.push(`${nonce}: ${String(error)}`);
      }
    });
    // Every tool that leaves a line is past its intent, and calls that only wait were sent before.
    const begun = async (): Promise<boolean> =>
      (await crib.rows()).filter(({ kind }) => kind === 'intent').length >= calls / 2;
    await eventually('all calls are under way', begun, 60_000);
    const signalledAt = performance.now();
    serving.signal(how);
    const unreadyMs = await eventually(
      'nobody is sent here any more',
      async () => (await serving.look('/readyz')) !== 200,
    );
    report(`${how}; not ready ${Math.round(unreadyMs)} ms later`);
    await Promise.all(answers);
    const { code } = await serving.ended();
    const exitMs = performance.now() - signalledAt;
    const cut = (await ends).filter(({ status }) => status === 'rejected').length;
    report(
      `${acknowledged.size} of ${calls} calls answered, ${streams - cut} of ${streams} streams ended properly, exit code ${code}`,
    );
    for (const client of clients) client.close();
    const rows = await crib.rows();
    const failures = [
      ...summarise('calls lost', lost),
      ...(cut > 0 ? [`${cut} streams cut off`] : []),
      ...(code === 0 ? [] : [`exit code ${code}`]),
      ...summarise('calls that ran twice', repeated(crib.notes())),
      ...summarise('acknowledged calls without a row', withoutRow(acknowledged, rows)),
      ...(await crib.verify()).failures,
    ];
    const figures = `not ready after ${against(unreadyMs, TARGET_MS.unready)}, exit after ${against(exitMs, TARGET_MS.exit)}`;
    return { counts: `${calls} calls under way, ${streams} streams, ${figures}`, failures };
  } finally {
    await crib.close();
  }
}

function peopleOf(callers: number): Person[] {
  return Array.from({ length: callers }, (_, index) => ({ tenant: `t${index % 10}`, caller: `c${index}` }));
}

function repeated(notes: readonly string[]): string[] {
  return notes.filter((note, index) => notes.indexOf(note) < index);
}

async function stopTwice({ report }: RunOptions): Promise<{ failures: string[]; ms: number }> {
  const crib = new Crib();
  try {
    const serving = await crib.start();
    const client = new Client({ port: serving.port });
    const answer = client.call('heedful', { nonce: 'long', ms: 25_000 }).catch(() => {});
    await eventually('the call is under way', () => crib.notes().length > 0);
    serving.signal('SIGTERM');
    await eventually('it is stopping', () => serving.output.includes('Stopping'));
    const startedAt = performance.now();
    serving.signal('SIGTERM');
    const { code } = await serving.ended();
    const ms = performance.now() - startedAt;
    await answer;
    client.close();
    report(`the second SIGTERM ended it after ${Math.round(ms)} ms with ${code}`);
    // The drain would have taken 25 seconds.
    const failures = [
      ...(code === 143 ? [] : [`exit code ${code} after a second SIGTERM`]),
      ...(ms < 10_000 ? [] : [`a second SIGTERM took ${Math.round(ms)} ms`]),
    ];
    return { failures, ms };
  } finally {
    await crib.close();
  }
}

async function inGroups(
  count: number,
  open: (index: number) => Promise<IncomingMessage>,
): Promise<IncomingMessage[]> {
  const opened: IncomingMessage[] = [];
  while (opened.length < count) {
    const size = Math.min(200, count - opened.length);
    opened.push(
      ...(await Promise.all(Array.from({ length: size }, (_, index) => open(opened.length + index)))),
    );
  }
  return opened;
}

const guarded = { auth: { keys: {} }, access: [{ roles: ['tester'], tools: ['*'] }] };
