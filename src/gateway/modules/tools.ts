import { relative, sep } from 'node:path';
import { systemClock, type Clock } from '../../base/clock.ts';
import type { ToolRegistry } from '../../core/registry.ts';
import { nameCode } from '../../core/tool.ts';
import type { Log } from '../../observe/log.ts';
import type { Conflict } from '../settings/config.ts';
import { NO_OFFERS, offersIn, type Offers } from './exports.ts';
import { filePattern, findFiles, isFile, type FilePattern } from './files.ts';
import { ReachError } from './import-reach.ts';
import { LOAD_MS, ModuleLoader, loadErrorOf, type LoadLimits } from './loader.ts';
import { checkOffers, putOffers } from './put-offers.ts';

/** The options for tools from files. */
export interface ModuleToolsOptions {
  /** Such as `./tools/*.ts`. */
  readonly patterns: readonly string[];
  /** The folder that the patterns are relative to. */
  readonly baseDir: string;
  readonly log: Log;
  /** Where the tools are registered. */
  readonly registry: ToolRegistry;
  /** Whether files are loaded again when they change. */
  readonly watch: boolean;
  readonly clock?: Clock;
  /** The previous instance: a file that is broken now keeps the tools it had there. */
  readonly before?: ModuleTools | undefined;
  /** The time limit for loading a file, 10 seconds unless set. */
  readonly loadMs?: number;
  /** Checks what a file imports before it runs. */
  readonly checkImports?: LoadLimits['checkImports'];
  /** Aborted when the tools are no longer needed. */
  readonly signal?: AbortSignal | undefined;
}

/** Why a file or a pattern is not used as it is. */
export interface ModuleProblem {
  /** Relative to the base folder; or the pattern. */
  readonly file: string;
  readonly reason: string;
  /** A pattern without files is a warning; a file that cannot be used is an error. */
  readonly severity: 'error' | 'warning';
  /** The settings at fault, if it is not the file. */
  readonly conflicts?: readonly Conflict[] | undefined;
}

/** Tools from files; a broken file keeps the tools it had, and other files are not affected. */
export interface ModuleTools {
  /** The files in use. */
  readonly files: readonly string[];
  readonly problems: readonly ModuleProblem[];
  /** The tools in use from a file: those of its last good version. */
  offersOf(file: string): Offers | undefined;
  /** Stops watching and loading; the tools stay. */
  close(): Promise<void>;
}

/** Loads tools, resources and prompts from files into a registry, and keeps them up to date. */
export async function createModuleTools({
  before,
  signal,
  ...options
}: ModuleToolsOptions): Promise<ModuleTools> {
  signal?.throwIfAborted();
  const modules = new Modules(options);
  const giveUp = (): void => void modules.close();
  signal?.addEventListener('abort', giveUp);
  try {
    // `before` is not kept: each instance would hold all earlier ones.
    await modules.start(before);
    signal?.throwIfAborted();
    return modules;
  } catch (error) {
    await modules.close();
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

const QUIET_MS = 100;

interface Failure {
  readonly reason: string;
  /** Its offers, if only their names are taken; the names may become free. */
  readonly offers?: Offers;
  readonly conflicts?: readonly Conflict[] | undefined;
}

interface LoadOptions {
  readonly gone?: readonly string[];
  readonly before?: ModuleTools | undefined;
}

class Modules implements ModuleTools {
  readonly #options: ModuleToolsOptions;
  readonly #loader: ModuleLoader;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #patterns: readonly FilePattern[];
  readonly #inUse = new Map<string, Offers>();
  readonly #failures = new Map<string, Failure>();
  #unmatched: readonly string[] = [];
  #unwatch: (() => Promise<void>) | undefined;
  readonly #changed = new Set<string>();
  #cancelReload: (() => void) | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(options: ModuleToolsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#patterns = options.patterns.map((text) => filePattern(text, options.baseDir));
    const { loadMs = LOAD_MS, checkImports } = options;
    this.#loader = new ModuleLoader(options.baseDir, { loadMs, checkImports, signal: this.#closing.signal });
  }

  get files(): readonly string[] {
    return [...this.#inUse.keys()].toSorted();
  }

  get problems(): readonly ModuleProblem[] {
    const failed = [...this.#failures].map(([file, { reason, conflicts }]): ModuleProblem => ({
      file: this.#nameOf(file),
      reason,
      severity: 'error',
      conflicts,
    }));
    const unmatched = this.#unmatched.map((file): ModuleProblem => ({
      file,
      reason: 'No file matches this pattern.',
      severity: 'warning',
    }));
    return [...unmatched, ...failed];
  }

  offersOf(file: string): Offers | undefined {
    return this.#inUse.get(file);
  }

  start(before: ModuleTools | undefined): Promise<void> {
    return this.#inTurn(async () => {
      // First, so that no change is missed between reading and watching.
      if (this.#options.watch && this.#patterns.length > 0) await this.#watch();
      const found = await Promise.all(this.#patterns.map(findFiles));
      this.#unmatched = this.#patterns.flatMap(({ text }, index) =>
        found[index]?.length === 0 ? [text] : [],
      );
      for (const pattern of this.#unmatched) this.#options.log('warn', `No file matches ${pattern}.`);
      await this.#loadAll([...new Set(found.flat())], { before });
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelReload?.();
    await this.#unwatch?.();
    await this.#work;
  }

  async #watch(): Promise<void> {
    const { watchSources } = await import('./watch-sources.ts');
    this.#unwatch = await watchSources(this.#patterns, this.#options.baseDir, {
      onChange: (path) => this.#note(path),
      onFolder: (folder) => {
        for (const file of this.#known()) if (file.startsWith(folder + sep)) this.#note(file);
      },
      onError: (error) => this.#options.log('warn', 'The tools cannot be watched.', { error }),
    });
  }

  #note(path: string): void {
    this.#changed.add(path);
    this.#cancelReload?.();
    // Editors write a file in several steps.
    this.#cancelReload = this.#clock.after(QUIET_MS, () => void this.#inTurn(() => this.#reload()));
  }

  async #reload(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed.clear();
    const own = changed.filter((file) => this.#patterns.some(({ matches }) => matches(file)));
    // A shared file changed: which tool files import it is not known, so all are run again.
    const isShared = own.length < changed.length;
    if (isShared) this.#loader.forget();
    const files = new Set([...own, ...(isShared ? this.#known() : [])]);
    const there: string[] = [];
    const gone: string[] = [];
    for (const file of files) ((await isFile(file)) ? there : gone).push(file);
    await this.#loadAll(there, { gone });
  }

  #known(): string[] {
    return [...new Set([...this.#inUse.keys(), ...this.#failures.keys()])];
  }

  // All files run before anything is registered, so that clients are notified once.
  async #loadAll(files: readonly string[], { gone = [], before }: LoadOptions): Promise<void> {
    const ran: (readonly [file: string, outcome: Offers | Failure])[] = [];
    this.#loader.begin();
    for (const file of files.toSorted()) {
      ran.push([file, await this.#run(file)]);
      // A load that was aborted is not a failure.
      if (this.#closing.signal.aborted) return;
    }
    for (const file of gone) this.#drop(file);
    // First, so that the names of a broken file stay its own.
    for (const [file, outcome] of ran) if ('reason' in outcome) this.#keep(file, before);
    for (const [file, outcome] of ran) this.#put(file, outcome);
    // A taken name may have become free.
    const taking = [...this.#failures].flatMap(([file, { offers }]) => (offers ? [file] : []));
    for (const file of taking) this.#put(file, this.#failures.get(file)!.offers!);
    for (const file of this.#failures.keys()) this.#keep(file, before);
    const taken = taking.filter((file) => !this.#failures.has(file));
    for (const file of new Set([...ran.map(([one]) => one), ...taken])) this.#report(file);
  }

  #keep(file: string, before: ModuleTools | undefined): void {
    const offers = before?.offersOf(file);
    if (!offers || this.#inUse.has(file)) return;
    try {
      putOffers(this.#options.registry, NO_OFFERS, offers);
      this.#inUse.set(file, offers);
    } catch {
      // One of its names belongs to another file now; the broken file is reported anyway.
    }
  }

  async #run(file: string): Promise<Offers | Failure> {
    try {
      const { exports, code } = await this.#loader.load(file);
      const offers = offersIn(exports);
      checkOffers(offers);
      for (const tool of offers.tools) nameCode(tool, code);
      return offers;
    } catch (error) {
      return {
        reason: loadErrorOf(error),
        ...(error instanceof ReachError && { conflicts: error.conflicts }),
      };
    }
  }

  #put(file: string, outcome: Offers | Failure): void {
    if ('reason' in outcome) {
      this.#failures.set(file, outcome);
      return;
    }
    try {
      putOffers(this.#options.registry, this.#inUse.get(file) ?? NO_OFFERS, outcome);
      this.#inUse.set(file, outcome);
      this.#failures.delete(file);
    } catch (error) {
      this.#failures.set(file, {
        reason: this.#clashOf(file, outcome) ?? loadErrorOf(error),
        offers: outcome,
      });
    }
  }

  // The registry's own message would not name the two files.
  #clashOf(file: string, { tools }: Offers): string | undefined {
    for (const { name } of tools)
      for (const [other, inUse] of this.#inUse)
        if (other !== file && inUse.tools.some((tool) => tool.name === name))
          return `A tool named "${name}" is in ${this.#nameOf(other)} already; rename one of the two.`;
    return undefined;
  }

  #report(file: string): void {
    const failure = this.#failures.get(file);
    const name = this.#nameOf(file);
    if (!failure) {
      this.#options.log('info', `Loaded ${name}.`, { tools: this.#inUse.get(file)?.tools.length });
      return;
    }
    const kept = this.#inUse.has(file) ? ' Its last good tools stay in use.' : '';
    this.#options.log('error', `${name} cannot be used.${kept}`, { reason: failure.reason });
  }

  #drop(file: string): void {
    const offers = this.#inUse.get(file) ?? NO_OFFERS;
    const withIt = this.#inUse.has(file) ? ', and what it offered with it' : '';
    if (withIt || this.#failures.has(file))
      this.#options.log('info', `${this.#nameOf(file)} is gone${withIt}.`, { tools: offers.tools.length });
    putOffers(this.#options.registry, offers, NO_OFFERS);
    this.#inUse.delete(file);
    this.#failures.delete(file);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#work.then(work);
    // A failure belongs to the caller of this work, not to the next one.
    this.#work = next.catch(() => {});
    return next;
  }

  #nameOf(file: string): string {
    return relative(this.#options.baseDir, file);
  }
}
