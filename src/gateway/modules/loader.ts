import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Jiti, ModuleCache } from 'jiti';
import { Overdue, within } from '../../base/within.ts';
import { ImportReader, type ImportGraph } from './import-graph.ts';

/** The default time limit for loading a file. */
export const LOAD_MS = 10_000;

/** Limits for loading files. */
export interface LoadLimits {
  readonly loadMs: number;
  /** Aborted when the files are no longer needed. */
  readonly signal: AbortSignal;
  /** Throws if a file must not run because of its imports. */
  readonly checkImports?: ((graph: ImportGraph) => void) | undefined;
}

/** A file that was run. */
export interface LoadedModule {
  readonly exports: Readonly<Record<string, unknown>>;
  /** A digest of its code, imports included. */
  readonly code: string;
}

const OWN_NAMES = ['toolcrib', 'toolcrib/node', 'toolcrib/stages', 'toolcrib/tools'];

/** Runs TypeScript and JavaScript files, repeatedly; their imports of `toolcrib` get the running copy. */
export class ModuleLoader {
  readonly #baseDir: string;
  readonly #limits: LoadLimits;
  #jiti: Promise<Jiti> | undefined;
  /** Files that have run, so that two importers share a module. */
  #ran: ModuleCache = {};
  #imports = new ImportReader();

  constructor(baseDir: string, limits: LoadLimits) {
    this.#baseDir = baseDir;
    this.#limits = limits;
  }

  /**
   * Runs a file again and returns its exports; files it imports run once. If it takes too long, its result is ignored.
   */
  async load(file: string): Promise<LoadedModule> {
    const graph = this.#imports.graph(file);
    this.#limits.checkImports?.(graph);
    this.#jiti ??= createLoader(this.#baseDir);
    const jiti = await this.#jiti;
    const before = { ...this.#ran };
    delete this.#ran[file];
    try {
      const exports = await withinLimits(run(jiti, file, this.#ran), this.#limits);
      return { exports, code: graph.digest };
    } catch (error) {
      // A module that failed or still runs must not be used by the next importer.
      this.#ran = before;
      throw error;
    }
  }

  /** Reads imports again; within one load, each file is read once. */
  begin(): void {
    this.#imports = new ImportReader();
  }

  /** Forgets every file, so that imported files run again too. */
  forget(): void {
    this.#ran = {};
  }
}

async function run(jiti: Jiti, file: string, cache: ModuleCache): Promise<Readonly<Record<string, unknown>>> {
  const source = await readFile(file, 'utf8');
  const options = { id: file, filename: file, ext: extname(file), cache, async: true };
  // Node never reloads what it imported itself, so the loader runs JavaScript too.
  const ran = await (jiti.evalModule(source, { ...options, forceTranspile: true }) as Promise<unknown>);
  return (ran ?? {}) as Readonly<Record<string, unknown>>;
}

// The timer keeps the process alive: otherwise a command whose file awaits for ever would end silently.
async function withinLimits<T>(work: Promise<T>, { loadMs, signal }: LoadLimits): Promise<T> {
  try {
    return await within(loadMs, signal, work);
  } catch (error) {
    throw error instanceof Overdue ? new Error(tooLong(loadMs)) : error;
  }
}

function tooLong(loadMs: number): string {
  return `It was not loaded after ${loadMs / 1000} seconds; have it await less before it exports its tools.`;
}

async function createLoader(baseDir: string): Promise<Jiti> {
  const [{ createJiti }, virtualModules] = await Promise.all([import('jiti'), ownModules()]);
  const packages = join(baseDir, 'node_modules');
  return createJiti(join(baseDir, 'toolcrib.js'), {
    moduleCache: false,
    // Compiled code is cached beside the packages only: others may write to a shared temporary folder.
    fsCache: existsSync(packages) && join(packages, '.cache', 'toolcrib'),
    virtualModules,
    // Imports are resolved as written: settings of the process for aliases are ignored.
    alias: {},
    tsconfigPaths: false,
  });
}

// By its own name a package finds the files that are already running, wherever it is installed.
async function ownModules(): Promise<Record<string, unknown>> {
  const found = await Promise.allSettled(OWN_NAMES.map((name) => import(name) as Promise<unknown>));
  return Object.fromEntries(
    found.flatMap((outcome, index) =>
      outcome.status === 'fulfilled' ? [[OWN_NAMES[index]!, outcome.value]] : [],
    ),
  );
}

/** Why a file cannot be used, in one line. */
export function loadErrorOf(error: unknown): string {
  if (!(error instanceof Error)) return `It throws ${typeof error === 'string' ? error : typeof error}.`;
  return error.message
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim();
}
