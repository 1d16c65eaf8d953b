import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Jiti, ModuleCache } from 'jiti';

const OWN_NAMES = ['toolcrib', 'toolcrib/node', 'toolcrib/stages', 'toolcrib/tools'];

/** Runs TypeScript and JavaScript files, again and again; what they import from `toolcrib` is the copy that is running. */
export class ModuleLoader {
  readonly #baseDir: string;
  #jiti: Promise<Jiti> | undefined;
  /** Files that were run, so that two which import a third share it. */
  #ran: ModuleCache = {};

  constructor(baseDir: string) {
    this.#baseDir = baseDir;
  }

  /** Runs a file anew and returns what it exports; files it imports are run once. */
  async load(file: string): Promise<Readonly<Record<string, unknown>>> {
    this.#jiti ??= createLoader(this.#baseDir);
    const jiti = await this.#jiti;
    const source = await readFile(file, 'utf8');
    const before = { ...this.#ran };
    delete this.#ran[file];
    try {
      const options = { id: file, filename: file, ext: extname(file), cache: this.#ran, async: true };
      // Node keeps what it imported itself for good, so JavaScript too is run by the loader.
      const ran = await (jiti.evalModule(source, { ...options, forceTranspile: true }) as Promise<unknown>);
      return (ran ?? {}) as Readonly<Record<string, unknown>>;
    } catch (error) {
      // What was run halfway would be taken for whole by the next file that imports it.
      this.#ran = before;
      throw error;
    }
  }

  /** Forgets every file, so that what they import is run again as well. */
  forget(): void {
    this.#ran = {};
  }
}

async function createLoader(baseDir: string): Promise<Jiti> {
  const [{ createJiti }, virtualModules] = await Promise.all([import('jiti'), ownModules()]);
  const packages = join(baseDir, 'node_modules');
  return createJiti(join(baseDir, 'toolcrib.js'), {
    moduleCache: false,
    // Translated code is kept only where the packages are: others may write to a shared temporary folder.
    fsCache: existsSync(packages) && join(packages, '.cache', 'toolcrib'),
    virtualModules,
  });
}

// By its own name a package finds the files that are running already, wherever it is installed.
async function ownModules(): Promise<Record<string, unknown>> {
  const found = await Promise.allSettled(OWN_NAMES.map((name) => import(name) as Promise<unknown>));
  return Object.fromEntries(
    found.flatMap((outcome, index) =>
      outcome.status === 'fulfilled' ? [[OWN_NAMES[index]!, outcome.value]] : [],
    ),
  );
}
