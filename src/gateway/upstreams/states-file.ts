import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { parseJson } from '../../base/parse-json.ts';
import { isRunning } from '../../store/journal/holder.ts';
import type { UpstreamState } from './state.ts';

/** How the upstreams of one running gateway stood at some moment. */
export interface StatesReport {
  readonly pid: number;
  readonly host: string;
  /** When it was written, in milliseconds since 1970. */
  readonly at: number;
  readonly upstreams: readonly UpstreamState[];
}

/** What the file is written with. */
export interface StatesFileParts {
  /** The database it stands beside. */
  readonly database: string;
  readonly clock: Clock;
  readonly read: () => readonly UpstreamState[];
  /** Told when it cannot be written. */
  readonly onTrouble: (cause: unknown) => void;
}

// Changes come in bursts, such as a restart of everything.
const GATHER_MS = 200;

/** Where a running gateway keeps how its upstreams stand, for commands: one file a process, beside the database. */
export class StatesFile {
  readonly #parts: StatesFileParts;
  readonly #file: string;
  #disarm: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;
  #isTroubled = false;

  constructor(parts: StatesFileParts) {
    this.#parts = parts;
    this.#file = `${parts.database}${MARK}${process.pid}`;
    for (const { file, report } of reportsBeside(parts.database))
      if (!isAlive(report)) rmSync(file, { force: true });
  }

  /** Writes how they stand, soon. */
  note(): void {
    if (this.#isClosed) return;
    this.#disarm ??= this.#parts.clock.after(GATHER_MS, () => {
      this.#disarm = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    });
  }

  /** Removes the file: nobody keeps it up to date any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#disarm?.();
    await this.#writing;
    rmSync(this.#file, { force: true });
  }

  async #write(): Promise<void> {
    const { clock, read, onTrouble } = this.#parts;
    const report: StatesReport = { pid: process.pid, host: hostname(), at: clock.now(), upstreams: read() };
    const draft = `${this.#file}.new`;
    try {
      await writeFile(draft, JSON.stringify(report), { mode: 0o600 });
      await rename(draft, this.#file);
      this.#isTroubled = false;
    } catch (error) {
      // Told once: a full disk is told of elsewhere, too.
      if (!this.#isTroubled) onTrouble(error);
      this.#isTroubled = true;
    }
  }
}

/** How the upstreams of every gateway that runs on a database stand, as far as its files are from this machine. */
export function readStates(database: string): readonly StatesReport[] {
  return reportsBeside(database)
    .map(({ report }) => report)
    .filter(isAlive)
    .toSorted((a, b) => a.pid - b.pid);
}

const MARK = '.upstreams-';

function reportsBeside(database: string): { readonly file: string; readonly report: StatesReport }[] {
  const folder = dirname(database);
  const start = `${basename(database)}${MARK}`;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    if (!name.startsWith(start) || !/^\d{1,10}$/.test(name.slice(start.length))) return [];
    const file = join(folder, name);
    const report = readReport(file);
    return report ? [{ file, report }] : [];
  });
}

// It may be gone since the folder was read.
function readReport(file: string): StatesReport | undefined {
  try {
    const report = parseJson(readFileSync(file, 'utf8')) as Partial<StatesReport> | null;
    return typeof report?.pid === 'number' && Array.isArray(report.upstreams)
      ? (report as StatesReport)
      : undefined;
  } catch {
    return undefined;
  }
}

// Processes of another machine cannot be checked; their entries are judged by age.
function isAlive({ pid, host }: StatesReport): boolean {
  return host !== hostname() || pid === process.pid || isRunning(String(pid), '');
}
