import { existsSync, statSync } from 'node:fs';
import { Client } from '../client.ts';
import { Crib, type Serving } from '../crib.ts';
import { effectsWithoutIntent, Load, withoutRow } from '../load.ts';
import {
  against,
  eventually,
  nothingShown,
  pause,
  summarise,
  type Outcome,
  type RunOptions,
  type Scenario,
} from '../scenario.ts';
import { mountingObstacle, onSmallDisk, type SmallDisk } from '../small-disk.ts';
import { Interference, tracingObstacle } from '../tracer.ts';

/** A disk that fails, is full or hangs stops the tools, and calls work again when the disk does. */
export const failingDisk: Scenario = {
  id: 'R3',
  title: 'no tool runs while the disk fails, is full or hangs, and calls work again afterwards',
  async run(options) {
    const notRun = tracingObstacle() ?? mountingObstacle();
    if (notRun !== undefined) return { counts: '', failures: [], notRun };
    const hangMs = options.counts === 'full' ? 10_000 : 3_000;
    const parts = {
      'failing syncs': (site: RunOptions) => failCalls(site, 'fsync,fdatasync'),
      'failing writes': (site: RunOptions) => failCalls(site, 'pwrite64'),
      'full disk': fillDisk,
      'full disk of a copy': fillCopy,
      'hanging disk': (site: RunOptions) => hang(site, hangMs),
    };
    // Each has a disk and a server of its own, and mostly waits.
    const found = await Promise.all(
      Object.entries(parts).map(async ([what, part]) => {
        const report = (line: string): void => options.report(`${what}: ${line}`);
        const { failures, unreadyMs } = await part({ ...options, report });
        return {
          failures: failures.map((text) => `${what}: ${text}`),
          figure:
            unreadyMs === undefined ? what : `${what}, not ready after ${against(unreadyMs, UNREADY_MS)}`,
        };
      }),
    );
    return {
      counts: `${found.map(({ figure }) => figure).join('; ')}; a hang of ${hangMs / 1000} s`,
      failures: found.flatMap(({ failures }) => failures),
    };
  },
  // With nothing wrong with the disk, tools run on: the check that they stand still must say so.
  async control({ report }): Promise<Outcome> {
    const crib = new Crib();
    try {
      const serving = await crib.start();
      const load = work(serving);
      await eventually('calls are answered', () => load.acknowledged.size > 0);
      const failures = await standsStill({ crib, serving, report });
      await load.stop();
      return { counts: 'a disk that is well', failures };
    } finally {
      await crib.close();
    }
  },
};

const UNREADY_MS = 1_000;

interface Part {
  readonly failures: readonly string[];
  /** From the first failure until the server says that it is not ready; absent where it stays ready. */
  readonly unreadyMs?: number;
}

interface Site {
  readonly crib: Crib;
  readonly serving: Serving;
  readonly report: RunOptions['report'];
}

function work({ port }: Serving): Load {
  let last = 0;
  return new Load({
    port,
    lanes: 8,
    goesOn: true,
    make: () => ({ tool: 'effect', args: { nonce: `n${++last}` } }),
  });
}

async function failCalls({ report }: RunOptions, calls: string): Promise<Part> {
  const crib = new Crib();
  try {
    const serving = await crib.start();
    const load = work(serving);
    await eventually('calls are answered', () => load.acknowledged.size > 20);
    const interference = await Interference.begin(serving.pid, `${calls}:error=EIO`);
    await eventually('one of them fails', () => interference.count > 0);
    const unreadyMs = await untilUnready(serving);
    report(`a call of ${calls} failed; not ready ${Math.round(unreadyMs)} ms later`);
    const failures = await standsStill({ crib, serving, report });
    await interference.lift();
    report(`the disk is well after ${interference.count} failures`);
    failures.push(...(await recovers({ crib, serving, report }, load, { gap: true })));
    return { failures, unreadyMs };
  } finally {
    await crib.close();
  }
}

function untilUnready(serving: Serving): Promise<number> {
  return eventually('the server is not ready', async () => (await serving.look('/readyz')) === 503);
}

// The record and one copy of its checkpoints are on one small disk, as by default; another copy is elsewhere.
async function fillDisk({ report }: RunOptions): Promise<Part> {
  const url = 'sqlite:./disk/toolcrib.db';
  return onSmallDisk({ store: { url } }, async ({ crib, serving, filler }) => {
    const load = work(serving);
    await eventually('calls are answered', () => load.acknowledged.size > 20);
    filler.start();
    await eventually('a call is refused', () => load.refused.length > 0);
    const unreadyMs = await untilUnready(serving);
    report(`the disk is full; not ready ${Math.round(unreadyMs)} ms after the first refusal`);
    // What the log of the database gives up when it is reopened is used up, too.
    let before = -1;
    await eventually('nothing is written any more', async () => {
      const isStill = crib.notes().length === before;
      before = crib.notes().length;
      await pause(500);
      return isStill;
    });
    const failures = await standsStill({ crib, serving, report });
    filler.remove();
    report('there is space again');
    failures.push(...(await recovers({ crib, serving, report }, load, { gap: true })));
    return { failures, unreadyMs };
  });
}

// Only a copy of the checkpoints is on the small disk: calls continue, and the copy is completed when there is space.
async function fillCopy({ report }: RunOptions): Promise<Part> {
  // Full before the first checkpoint: a file that is there has some room left on its last page.
  const how = { startsFull: true };
  const run = async ({ crib, serving, filler }: SmallDisk): Promise<Part> => {
    const load = work(serving);
    await pause(3_000);
    const isEmpty = !existsSync(copy(crib)) || statSync(copy(crib)).size === 0;
    filler.remove();
    report('there is space again for the copy');
    const failures = isEmpty ? [] : [nothingShown('the disk of the copy was not full')];
    failures.push(...(await recovers({ crib, serving, report }, load, { gap: false })));
    return { failures };
  };
  return onSmallDisk({}, run, how);
}

function copy(crib: Crib): string {
  return crib.path('disk/toolcrib.checkpoints');
}

async function hang({ report }: RunOptions, hangMs: number): Promise<Part> {
  const crib = new Crib();
  try {
    const serving = await crib.start();
    const load = work(serving);
    await eventually('calls are answered', () => load.acknowledged.size > 20);
    const interference = await Interference.begin(
      serving.pid,
      `fsync,fdatasync:delay_enter=${hangMs * 1000}:when=1`,
    );
    const client = new Client({ port: serving.port });
    const begunAt = performance.now();
    const keyed = client
      .call('effect', { nonce: 'keyed' }, { meta: { 'dev.toolcrib/idempotencyKey': 'hanging' } })
      .then(({ status }) => ({ status, ms: performance.now() - begunAt }));
    await untilUnready(serving);
    const unreadyMs = performance.now() - begunAt;
    report(`the disk hangs; not ready after ${Math.round(unreadyMs)} ms`);
    const failures = await standsStill({ crib, serving, report });
    const { status, ms } = await keyed;
    client.close();
    report(`a call with a key was answered with ${status} after ${Math.round(ms)} ms`);
    if (ms > hangMs - 300)
      failures.push(`a call with an idempotency key waited ${Math.round(ms)} ms for a disk that hangs`);
    await eventually(
      'the server is ready',
      async () => (await serving.look('/readyz')) === 200,
      hangMs + 15_000,
    );
    report(`the disk answers again after ${Math.round(performance.now() - begunAt)} ms`);
    await interference.lift();
    failures.push(...(await recovers({ crib, serving, report }, load, { gap: false })));
    return { failures, unreadyMs };
  } finally {
    await crib.close();
  }
}

// While rows cannot be written, calls are refused with the right words and leave no effect.
async function standsStill({ crib, serving, report }: Site): Promise<string[]> {
  const before = crib.notes().length;
  const client = new Client({ port: serving.port });
  const answers = [];
  for (let index = 0; index < 20; index++) {
    answers.push(await client.call('effect', { nonce: `still-${index}` }));
    await pause(10);
  }
  client.close();
  const after = crib.notes().length;
  const wrong = answers.filter(({ status, text }) => status !== 503 || !text.includes('cannot be recorded'));
  report(`20 calls while rows cannot be written: ${20 - wrong.length} refused, ${after - before} effects`);
  return [
    ...summarise(
      'calls not refused as they should be',
      wrong.map(({ status, text }) => `${status} ${text}`),
    ),
    ...(after > before ? [`${after - before} effects while rows cannot be written`] : []),
    ...((await serving.look('/healthz')) === 200 ? [] : ['/healthz does not answer']),
  ];
}

async function recovers(
  { crib, serving, report }: Site,
  load: Load,
  { gap }: { gap: boolean },
): Promise<string[]> {
  await eventually('the server is ready again', async () => (await serving.look('/readyz')) === 200, 20_000);
  const before = load.acknowledged.size;
  await eventually('calls are answered again', () => load.acknowledged.size > before + 20);
  // Long enough for a checkpoint.
  await pause(1_200);
  // A few more than it has connections to serve: a disk that is tried again and again must leave nothing open.
  const { descriptors } = serving;
  await load.stop();
  serving.signal('SIGTERM');
  const { code } = await serving.ended();
  const next = await crib.start();
  await next.kill();
  const rows = await crib.rows();
  const gaps = rows.filter(({ kind, chain }) => kind === 'gap' && chain === '@operator').length;
  report(
    `ready again; ${load.acknowledged.size} acknowledged, ${load.refused.length} refused, ${gaps} gaps on record, ${descriptors} descriptors`,
  );
  return [
    ...(code === 0 ? [] : [`the server ended with ${code}`]),
    ...(descriptors < 80 ? [] : [`${descriptors} descriptors are open`]),
    ...(gap && gaps === 0 ? ['no gap is on record'] : []),
    ...(load.lost > 0 ? [`${load.lost} connections were lost`] : []),
    ...summarise('acknowledged calls without a row', withoutRow(load.acknowledged, rows)),
    ...effectsWithoutIntent(crib.notes(), rows),
    ...(await crib.verify()).failures,
  ];
}
