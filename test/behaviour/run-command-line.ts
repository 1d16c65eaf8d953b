import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { within } from '../within.ts';
import { cli, runNode } from './child.ts';

/** How a command ended. */
export interface Run {
  readonly code: number | null;
  readonly output: string;
  readonly complaints: string;
}

const LIMIT_MS = 30_000;

// These take their process over, or load the code of tools into it.
const ALONE = new Set(['serve', 'check', 'lint', 'codegen']);

/** Runs the built command, in a process that other commands have used before if that makes no difference. */
export async function runCommandLine(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Run> {
  if (ALONE.has(args[0]!)) return runProcess(args, env);
  const host = (shared ??= startHost());
  const id = ++asked;
  const ended = new Promise<Run>((resolve, reject) => void waiting.set(id, { resolve, reject }));
  host.send({ id, args, env: { ...process.env, ...env } });
  try {
    return await within(LIMIT_MS, `toolcrib ${args.join(' ')}`, ended);
  } catch (error) {
    // What hangs once would hold up everything after it.
    host.kill('SIGKILL');
    throw error;
  }
}

/** Runs the built command in a process of its own. */
export async function runProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const child = runNode([cli, ...args], env);
  const ended = Promise.all([text(child.process.stdout), child.exit]);
  try {
    const [output, { code }] = await within(LIMIT_MS, `toolcrib ${args.join(' ')}`, ended);
    return { code, output, complaints: child.complaints() };
  } finally {
    await child.kill();
  }
}

let shared: ChildProcess | undefined;
let asked = 0;
const waiting = new Map<number, { resolve(run: Run): void; reject(error: Error): void }>();

function startHost(): ChildProcess {
  const root = join(import.meta.dirname, '../..');
  const host = fork(join(import.meta.dirname, 'command-host.mjs'), [cli], { cwd: root, execArgv: [] });
  host.on('message', (run: Run & { readonly id: number }) => {
    const { id, ...ended } = run;
    waiting.get(id)?.resolve(ended);
    waiting.delete(id);
  });
  void once(host, 'exit').then(() => {
    shared = undefined;
    for (const { reject } of waiting.values()) reject(new Error('A command ended its process.'));
    waiting.clear();
  });
  host.unref();
  host.channel?.unref();
  return host;
}
