import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ToolRegistry } from '../../src/core/registry.ts';
import { fileOperationsTool, type FileOperationsOptions } from '../../src/tools/files/file-operations.ts';

/** What is outside, and must neither come out nor be changed. */
export const CANARY = 'CANARY-7f3a91';

/** The answer to an operation. */
export type Answer = Readonly<Record<string, unknown>>;

/** Does what the arguments of `file_operations` ask for. */
export type Run = (args: Readonly<Record<string, unknown>>) => Promise<Answer>;

/** A root with something beside it that must not be reached. */
export interface Sandbox {
  readonly folder: string;
  /** What may be reached. */
  readonly root: string;
  /** Beside the root, with a canary in it. */
  readonly outside: string;
  /** Calls the tool over the root. */
  readonly run: Run;
  /** Everything outside the root, as it is now. */
  snapshot(): string;
}

/** How many steps up a path of a test may take at most. */
export const MAX_UP = 8;

/** All that can be asked of the tool. */
export const operations = ['read', 'list', 'info', 'search', 'write', 'mkdir', 'move', 'delete'] as const;

/** Makes a sandbox; it goes with the test. */
export function openSandbox(options: FileOperationsOptions = {}): Sandbox {
  const top = mkdtempSync(join(tmpdir(), 'toolcrib-sandbox-'));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  // A jail that is broken must not reach the machine the tests run on: more ways up than these are not tried.
  const folder = join(top, ...Array.from({ length: MAX_UP }, () => 'below'));
  const root = join(folder, 'root');
  const outside = join(folder, 'outside');
  // The last one begins with the name of the root.
  for (const name of ['root/a', 'outside', 'root-evil']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(root, 'inside.txt'), 'inside');
  writeFileSync(join(outside, 'canary.txt'), CANARY);
  writeFileSync(join(folder, 'root-evil/canary.txt'), CANARY);
  const registry = new ToolRegistry().registerTool(fileOperationsTool({ root, write: true, ...options }));
  return {
    folder,
    root,
    outside,
    run: (args) => registry.execute('file_operations', args) as Promise<Answer>,
    snapshot: () => JSON.stringify(['outside', 'root-evil'].map((name) => contentsOf(join(folder, name)))),
  };
}

/** An answer that says no in these words, and what to do instead. */
export function failure(error: string): Answer {
  return { error, message: expect.stringMatching(/\w\.$/) as string };
}

/** Asks for everything that can be done with a path. */
export async function tryAll(run: Run, path: string): Promise<Record<string, Answer>> {
  const answers: Record<string, Answer> = {};
  for (const operation of operations) {
    const rest = operation === 'write' || operation === 'move' ? { overwrite: true } : {};
    const to = operation === 'move' && { to: 'taken.txt' };
    const content = operation === 'write' && { content: 'overwritten' };
    const name = operation === 'search' && { name: '*' };
    answers[operation] = await run({ operation, path, ...rest, ...to, ...content, ...name });
  }
  answers['move to'] = await run({ operation: 'move', path: 'inside.txt', to: path, overwrite: true });
  return answers;
}

function contentsOf(folder: string): unknown {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      const { mode, nlink, mtimeMs } = statSync(path);
      const isFile = statSync(path).isFile();
      return [name, mode, nlink, mtimeMs, isFile ? readFileSync(path, 'utf8') : null];
    });
}
