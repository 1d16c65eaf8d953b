import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/gateway/settings/config.ts';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { within } from '../within.ts';
import { Client } from './client.ts';
import { Crib, type Serving } from './crib.ts';
import type { Order, Told } from './hostile-child.ts';
import { HOSTILES, type Phase } from './hostile.ts';
import type { Level } from './level.ts';
import { Neighbour, type Answers } from './neighbour.ts';
import { oddTools } from './odd-tools.ts';
import { pause, quantile } from './scenario.ts';

/** What is done, and for how long. */
export interface Siege {
  readonly phases: readonly Phase[];
  readonly rotations: number;
  /** How long each phase takes, and how long the other tenant is alone before and after. */
  readonly seconds: number;
  readonly aloneSeconds: number;
  /** Whether both are one tenant, with one allowance: the defence is off. */
  readonly isShared?: boolean;
  /** Whether the deployment is in memory, where what others do to the disk delays nothing. */
  readonly isInMemory?: boolean;
  readonly report: (line: string) => void;
}

/** What the other tenant heard, and what the hostile one did meanwhile. */
export interface Heard extends Answers {
  readonly told: Told;
}

/** What came of it. */
export interface Besieged {
  readonly before: Heard;
  /** Alone in each rotation, before the phases. */
  readonly between: Heard;
  readonly after: Heard;
  readonly phases: ReadonlyMap<string, Heard>;
  /** What the server held while nobody attacked, after each rotation. */
  readonly levels: readonly Level[];
  /** What is wrong at the end: the process is gone, the record does not verify. */
  readonly failures: readonly string[];
  /** How large the database was at the beginning and at the end, with the rows of the record that it got. */
  readonly database: string;
}

const OTHERS = 3;
const PER_SECOND = 8;
const REST_MS = 1_000;
// What is under way when a phase ends may take that long.
const ENDING_MS = 60_000;
const MEMORY = '/dev/shm';
const nothing: Told = { sent: 0, limited: 0, streams: 0, statuses: [] };

/** Runs the built command with every stage on, and two tenants: one calls steadily, one does what the phases say. */
export async function besideHostile(siege: Siege): Promise<Besieged> {
  const crib = new Crib(configuration(siege), folderFor(siege));
  writeFileSync(crib.path('tools/odd-tools.mjs'), oddTools());
  const hostile = startHostile();
  let neighbour: Neighbour | undefined;
  try {
    const keys = (await crib.admit(people(siege))).map(({ key }) => key);
    const serving = await crib.start();
    const watcher = new Client({ port: serving.port, key: keys[0]!, connections: 1, sendsAgain: true });
    neighbour = new Neighbour(serving.port, keys.slice(1, 1 + OTHERS), PER_SECOND);
    order(hostile, { port: serving.port, keys: keys.slice(1 + OTHERS) });
    // The first calls of a process are slow.
    neighbour.enter('at first');
    await pause(Math.min(siege.aloneSeconds, 10) * 1000);
    const sizeBefore = databaseMb(crib);
    neighbour.enter('before');
    await pause(siege.aloneSeconds * 1000);
    // The longest delay of the event loop is reported from the first measurement on.
    await watcher.call('vitals', {});
    const { told, levels } = await rotate({ siege, hostile, neighbour, serving, watcher, crib });
    neighbour.enter('after');
    await pause(siege.aloneSeconds * 1000);
    await neighbour.stop();
    watcher.close();
    const failures = await endOf(serving, crib);
    const database = `${sizeBefore.toFixed(1)} to ${databaseMb(crib).toFixed(1)} MB`;
    const { heard } = neighbour;
    const during = (name: string): Heard => ({ ...heard.get(name)!, told: told.get(name) ?? nothing });
    const phases = new Map(siege.phases.map(({ name }) => [name, during(name)]));
    const [before, between, after] = ['before', 'between', 'after'].map(during) as [Heard, Heard, Heard];
    return { before, between, after, phases, levels, failures, database };
  } finally {
    hostile.kill();
    neighbour?.close();
    await crib.close();
  }
}

function folderFor({ isInMemory = false }: Siege): string | undefined {
  return isInMemory && existsSync(MEMORY) ? mkdtempSync(join(MEMORY, 'toolcrib-fault-')) : undefined;
}

function configuration({ isShared = false }: Siege): ConfigInput {
  return {
    // As it is unless set; the deployments of other scenarios have no limit.
    server: { requestsPerMinute: 6_000, sse: true },
    auth: { keys: {} },
    access: [{ roles: ['tester'], tools: ['*'], prompts: ['*'], resources: ['*'] }],
    stages: {
      audit: { arguments: 'hashed' },
      rateLimit: isShared ? { perTenant: 600 } : {},
      circuitBreak: {},
      concurrency: {},
      approve: {},
      trace: {},
    },
  };
}

function people({ isShared = false }: Siege): { tenant: string; caller: string }[] {
  const named = (tenant: string, count: number): { tenant: string; caller: string }[] =>
    Array.from({ length: count }, (_, index) => ({
      tenant: isShared ? 'all' : tenant,
      caller: `${tenant}${index}`,
    }));
  return [{ tenant: 'watch', caller: 'watch' }, ...named('steady', OTHERS), ...named('hostile', HOSTILES)];
}

interface Site {
  readonly siege: Siege;
  readonly hostile: ChildProcess;
  readonly neighbour: Neighbour;
  readonly serving: Serving;
  readonly watcher: Client;
  readonly crib: Crib;
}

async function rotate(site: Site): Promise<{ told: Map<string, Told>; levels: Level[] }> {
  const { siege, hostile, neighbour } = site;
  const told = new Map<string, Told>();
  const levels: Level[] = [];
  for (let rotation = 0; rotation < siege.rotations; rotation++) {
    // What it is alone is measured all along: others may use the machine and its disk at one time and not at another.
    neighbour.enter('between');
    await pause(siege.seconds * 1000);
    for (const { name } of siege.phases) {
      const news = once(hostile, 'message') as Promise<[Told]>;
      const busyBefore = busySeconds(site.serving);
      neighbour.enter(name);
      order(hostile, { phase: name });
      await pause(siege.seconds * 1000);
      order(hostile, { isOver: true });
      const [done] = await within(ENDING_MS, `the end of ${name}`, news);
      await pause(REST_MS);
      told.set(name, together(told.get(name) ?? nothing, done));
      const { refused } = neighbour.heard.get(name)!;
      const level = await levelOf(site);
      const p99 = quantile(neighbour.heard.get(name)!.times, 0.99).toFixed(1);
      const busy = (busySeconds(site.serving) - busyBefore).toFixed(1);
      siege.report(
        `${name}: ${JSON.stringify(done)}; ${refused.length} refused${refused.length > 0 ? ` (${refused.at(-1)})` : ''}; ${busy} s of the processor; p99 so far ${p99} ms; ${JSON.stringify(level)}`,
      );
    }
    // Memory that is released after a while needs that time.
    await pause(REST_MS * 3);
    levels.push(await levelOf(site));
  }
  return { told, levels };
}

async function levelOf({ serving, watcher, crib }: Site): Promise<Level> {
  const { text } = await within(ENDING_MS, 'the vital signs', watcher.call('vitals', {}));
  const { heapUsed, blockMs } = text.startsWith('{')
    ? (JSON.parse(text) as { heapUsed: number; blockMs: number })
    : { heapUsed: NaN, blockMs: NaN };
  const pages = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${serving.pid}/status`, 'utf8'))![1]);
  return {
    blockMs: Math.round(blockMs),
    rssMb: Math.round(pages / 1024),
    heapMb: Math.round(heapUsed / 1_048_576),
    descriptors: serving.descriptors,
    keptMb: Math.round(keptBytes(crib) / 1_048_576),
  };
}

// Time of the processor, in its own process and in the kernel for it.
function busySeconds({ pid }: Serving): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const KEPT = ['sessions', 'tasks', 'events', 'reservations', 'spent', 'approvals', 'intents'];

function keptBytes(crib: Crib): number {
  const db = new SqliteDatabase(crib.path('toolcrib.db'), 'existing');
  try {
    return KEPT.reduce((sum, table) => {
      const columns = db.all<{ name: string }>(`select name from pragma_table_info('${table}')`);
      const lengths = columns.map(({ name }) => `ifnull(length("${name}"), 0)`).join(' + ');
      return (
        sum + (db.get<{ bytes: number | null }>(`select sum(${lengths}) as bytes from ${table}`)?.bytes ?? 0)
      );
    }, 0);
  } finally {
    db.close();
  }
}

function databaseMb(crib: Crib): number {
  const files = ['toolcrib.db', 'toolcrib.db-wal'].map((name) => crib.path(name));
  return files.filter(existsSync).reduce((sum, file) => sum + statSync(file).size, 0) / 1_048_576;
}

async function endOf(serving: Serving, crib: Crib): Promise<string[]> {
  const failures: string[] = [];
  const { exitCode, signalCode } = serving.child;
  if (exitCode !== null || signalCode !== null)
    return [`the server ended with ${exitCode ?? signalCode}: ${serving.log.slice(-1_000)}`];
  if (serving.log.includes('failed outside of any call'))
    failures.push('something failed outside of any call');
  serving.signal('SIGTERM');
  const { code } = await within(ENDING_MS, 'the end of the server', serving.exit);
  if (code !== 0) failures.push(`the server ended with ${code}`);
  return [...failures, ...(await crib.verify()).failures];
}

// Attackers have machines of their own: here they get the processor after the server and the measuring process.
const LOWER_BY = 10;

function startHostile(): ChildProcess {
  const script = join(import.meta.dirname, 'hostile-child.ts');
  const hostile = fork(script, {
    execArgv: ['--import', 'jiti/register'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  setPriority(hostile.pid!, Math.min(19, getPriority() + LOWER_BY));
  return hostile;
}

function order(hostile: ChildProcess, what: Order): void {
  hostile.send(what);
}

function together(a: Told, b: Told): Told {
  const statuses = new Map(a.statuses);
  for (const [status, times] of b.statuses) statuses.set(status, (statuses.get(status) ?? 0) + times);
  return {
    sent: a.sent + b.sent,
    limited: a.limited + b.limited,
    streams: a.streams + b.streams,
    statuses: [...statuses],
  };
}
