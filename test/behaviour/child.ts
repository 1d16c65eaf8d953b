import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { within } from '../within.ts';

const root = join(import.meta.dirname, '../..');
const OUTPUT_MS = 30_000;

/** Where the command is once it is built. */
export const cli = join(root, 'dist/cli/main.js');

/** How to run a TypeScript file of this package. */
export const runTypeScript = join(root, 'node_modules/jiti/lib/jiti-cli.mjs');

/** A process of its own. */
export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** What it has written to standard error so far. */
  complaints(): string;
  /** Everything on standard output up to a text, which must come. */
  outputUntil(end: string): Promise<string>;
  /** How it ended. */
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Ends it, whatever it does. */
  kill(): Promise<void>;
}

/** Starts Node.js on a script; it ends with the test at the latest. */
export function startNode(args: readonly string[], env?: Readonly<Record<string, string>>): Child {
  const child = runNode(args, env);
  onTestFinished(() => child.kill());
  return child;
}

/** Starts Node.js on a script, which the caller has to end. */
export function runNode(args: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env } });
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const outputUntil = async (end: string): Promise<string> => {
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
      output += chunk;
      if (output.includes(end)) return output;
    }
    throw new Error(`The output ended before "${end}": ${output}${complaints}`);
  };
  return {
    process: child,
    exit,
    complaints: () => complaints,
    outputUntil: (end) => within(OUTPUT_MS, `"${end}" from ${args.join(' ')}`, outputUntil(end)),
    async kill() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}
