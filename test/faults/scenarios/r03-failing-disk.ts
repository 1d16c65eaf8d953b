import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import type { ConfigInput } from '../../../src/gateway/config.ts';
import { Client } from '../client.ts';
import { Crib, type Serving } from '../crib.ts';
import { effectsWithoutIntent, Load, withoutRow } from '../load.ts';
import { eventually, pause, summarise, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';
import { Interference, tracingObstacle } from '../tracer.ts';

/** A disk that fails, is full or hangs stops the tools, and everything goes on when it is well again. */
export const failingDisk: Scenario = {
  id: 'R3',
  title: 'no tool runs while the disk fails, is full or hangs, and all is well when it is',
  async run(options) {
    const notRun = tracingObstacle() ?? mountingObstacle();
    if (notRun !== undefined) return { counts: '', failures: [], notRun };
    const hangMs = options.counts === 'full' ? 10_000 : 3_000;
    const parts = {
      'failing syncs': failSyncs,
      'full disk': fillDisk,
      'full disk of a copy': fillCopy,
      'hanging disk': (site: RunOptions) => hang(site, hangMs),
    };
    // Each has a disk and a server of its own, and mostly waits.
    const found = await Promise.all(
      Object.entries(parts).map(async ([what, part]) => {
        const report = (line: string): void => options.report(`${what}: ${line}`);
        return (await part({ ...options, report })).map((text) => `${what}: ${text}`);
      }),
    );
    const failures = found.flat();
    return {
      counts: `failing syncs, a full disk, a full disk of a copy of the checkpoints, a hang of ${hangMs / 1000} s`,
      failures,
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

async function failSyncs({ report }: RunOptions): Promise<string[]> {
  const crib = new Crib();
  try {
    const serving = await crib.start();
    const load = work(serving);
    await eventually('calls are answered', () => load.acknowledged.size > 20);
    const interference = await Interference.begin(serving.pid, 'fsync,fdatasync:error=EIO');
    await eventually('a sync fails', () => interference.count > 0);
    const unreadyMs = await eventually(
      'the server is not ready',
      async () => (await serving.look('/readyz')) === 503,
    );
    report(`a sync failed; not ready ${Math.round(unreadyMs)} ms later`);
    const failures = await standsStill({ crib, serving, report });
    await interference.lift();
    report(`the disk is well after ${interference.count} failed syncs`);
    return [...failures, ...(await recovers({ crib, serving, report }, load, { gap: true }))];
  } finally {
    await crib.close();
  }
}

// The record and one copy of its checkpoints are on a small disk, as they are on one disk by default; another copy is elsewhere.
async function fillDisk({ report }: RunOptions): Promise<string[]> {
  const url = 'sqlite:./disk/toolcrib.db';
  return onSmallDisk({ store: { url } }, async ({ crib, serving, filler }) => {
    const load = work(serving);
    await eventually('calls are answered', () => load.acknowledged.size > 20);
    filler.start();
    await eventually('a call is refused', () => load.refused.length > 0);
    const unreadyMs = await eventually(
      'the server is not ready',
      async () => (await serving.look('/readyz')) === 503,
    );
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
    return [...failures, ...(await recovers({ crib, serving, report }, load, { gap: true }))];
  });
}

// Only a copy of the checkpoints is on the small disk: calls go on, and the copy is made whole when there is space.
async function fillCopy({ report }: RunOptions): Promise<string[]> {
  return onSmallDisk({}, async ({ crib, serving, filler }) => {
    // Before the first checkpoint: a file that is there has some room left on its last page.
    filler.start();
    const load = work(serving);
    await pause(3_000);
    const isEmpty = !existsSync(copy(crib)) || statSync(copy(crib)).size === 0;
    filler.remove();
    report('there is space again for the copy');
    const failures = isEmpty ? [] : ['the disk of the copy was not full, so nothing was shown'];
    return [...failures, ...(await recovers({ crib, serving, report }, load, { gap: false }))];
  });
}

function copy(crib: Crib): string {
  return crib.path('disk/toolcrib.checkpoints');
}

async function onSmallDisk(
  config: ConfigInput,
  use: (site: { crib: Crib; serving: Serving; filler: Filler }) => Promise<string[]>,
): Promise<string[]> {
  const crib = new Crib();
  const disk = crib.path('disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk]);
  const filler = new Filler(crib.path('disk/filler'));
  try {
    const checkpoints = ['./disk/toolcrib.checkpoints', './toolcrib.checkpoints'];
    crib.configure({
      ...config,
      stages: { audit: { arguments: 'preview', checkpoints, checkpointSeconds: 1 } },
    });
    return await use({ crib, serving: await crib.start(), filler });
  } finally {
    filler.remove();
    // The server has to let go of the disk first; the folder goes last.
    await crib.stop();
    execFileSync('umount', [disk]);
    await crib.close();
  }
}

async function hang({ report }: RunOptions, hangMs: number): Promise<string[]> {
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
    await eventually('the server is not ready', async () => (await serving.look('/readyz')) === 503);
    report(`the disk hangs; not ready after ${Math.round(performance.now() - begunAt)} ms`);
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
    return [...failures, ...(await recovers({ crib, serving, report }, load, { gap: false }))];
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
  const wrong = answers.filter(({ status, text }) => status !== 503 || !text.includes('on record'));
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
  const { code } = await serving.exit;
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

function mountingObstacle(): string | undefined {
  const crib = new Crib();
  try {
    const disk = crib.path('disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'pipe' });
    execFileSync('umount', [disk]);
    return undefined;
  } catch {
    return 'a small disk cannot be mounted here: it takes root and the mount command';
  } finally {
    void crib.close();
  }
}

/** Takes all space there is, and all that becomes free. */
class Filler {
  readonly #file: string;
  #timer: NodeJS.Timeout | undefined;
  #descriptor: number | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  start(): void {
    this.#descriptor = openSync(this.#file, 'a');
    this.#timer = setInterval(() => this.#fill(), 20);
  }

  remove(): void {
    clearInterval(this.#timer);
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
    rmSync(this.#file, { force: true });
  }

  #fill(): void {
    for (const filling of FILLINGS) {
      try {
        for (;;) writeSync(this.#descriptor!, filling);
      } catch {
        // Full, as far as pieces of this size go.
      }
    }
  }
}

const FILLINGS = [Buffer.alloc(1_048_576), Buffer.alloc(4_096)];
