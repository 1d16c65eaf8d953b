import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectFolder } from './machine.ts';
import { startProcess, stopProcess } from './process.ts';
import type { TargetOptions } from './targets/target.ts';
import { hasProc } from './usage.ts';

/** A target that listens. */
export interface HttpTarget {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
}

/** What to start, and how it is called in the tables. */
export interface TargetSpec {
  readonly name: string;
  /** The file in `targets/`, without its ending. */
  readonly file: string;
  readonly options: TargetOptions;
}

/** A deployment to be served by the command `toolcrib`. */
export interface ServedSpec {
  readonly name: string;
  /** Its configuration. */
  readonly config: string;
}

/** Starts an HTTP target and waits for its port. */
export async function startHttpTarget(spec: TargetSpec | ServedSpec): Promise<HttpTarget> {
  if ('config' in spec) return startCommand(spec.name, ['serve', '--config', spec.config]);
  const { name, file, options } = spec;
  const child = startTarget({ file, options }, 'ignore');
  return { name, url: `http://127.0.0.1:${await portFrom(name, child)}/mcp`, child };
}

/** Starts the command `toolcrib`, as a shell would, and waits until it says where it listens. */
export async function startCommand(name: string, args: readonly string[]): Promise<HttpTarget> {
  const path = join(projectFolder, 'dist', 'cli', 'main.js');
  const child = startProcess(process.execPath, [path, ...args], ['ignore', 'pipe', 'inherit']);
  const greeting = await firstOutput(name, child);
  const [url] = /http:\S+/.exec(greeting) ?? [];
  if (url === undefined) throw new Error(`${name} did not say where it listens: ${greeting}`);
  return { name, url, child };
}

/** Starts a target that is spoken to over its standard input and output. */
export function startStdioTarget({ file, options }: TargetSpec): ChildProcess {
  return startTarget({ file, options }, 'pipe');
}

/** Runs some work with targets that are ended afterwards, however the work ends. */
export async function withTargets<T>(
  specs: readonly (TargetSpec | ServedSpec)[],
  work: (targets: HttpTarget[]) => Promise<T>,
): Promise<T> {
  const targets: HttpTarget[] = [];
  try {
    for (const spec of specs) targets.push(await startHttpTarget(spec));
    return await work(targets);
  } finally {
    await Promise.all(targets.map(({ child }) => stopProcess(child)));
  }
}

function startTarget({ file, options }: Omit<TargetSpec, 'name'>, stdin: 'ignore' | 'pipe'): ChildProcess {
  const path = fileURLToPath(new URL(`./targets/${file}.js`, import.meta.url));
  // The message channel is opened only where it is needed: an open one costs the target start-up time and memory.
  return startProcess(
    process.execPath,
    [path, JSON.stringify(options)],
    [stdin, 'pipe', 'inherit', hasProc ? 'ignore' : 'ipc'],
  );
}

async function portFrom(name: string, child: ChildProcess): Promise<number> {
  return Number(await firstOutput(name, child));
}

async function firstOutput(name: string, child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('A target is started with its output piped.');
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${code} before it listened.`);
  });
  gone.catch(() => {}); // it also ends, as meant, long after it listened
  const [line] = (await Promise.race([once(child.stdout, 'data'), gone])) as [Buffer];
  return line.toString();
}
