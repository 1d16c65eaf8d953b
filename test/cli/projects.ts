import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { init, type InitFlags } from '../../src/cli/init/init.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { createModuleTools } from '../../src/gateway/modules/tools.ts';
import type { Tool } from '../../src/index.ts';

/** The folder of this package. */
export const root = join(import.meta.dirname, '../..');

/** A folder of its own, which goes when the test is over. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-init-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a project that finds its packages without a network. */
export async function makeProject(flags: InitFlags = {}): Promise<string> {
  const folder = join(scratch(), 'my-tools');
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  await init(folder, { yes: true, ...flags });
  const packages = join(folder, 'node_modules');
  mkdirSync(join(packages, '@types'), { recursive: true });
  for (const name of ['zod', 'jiti', '@types/node'])
    symlinkSync(join(root, 'node_modules', name), join(packages, name));
  symlinkSync(root, join(packages, 'toolcrib'));
  return folder;
}

/** Runs a program in a folder and tells how it ended. */
export async function run(
  folder: string,
  file: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  // A test runner that finds itself inside another one reports to that one instead.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(file, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const outputs = [child.stdout, child.stderr].map((stream) => stream.setEncoding('utf8').toArray());
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, output: (await Promise.all(outputs)).flat().join('') };
}

/** Runs a script of a project as npm does. */
export function runScript(folder: string, name: string): ReturnType<typeof run> {
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return run(folder, '/bin/sh', ['-c', scripts[name]]);
}

/** The tool of a project. */
export async function toolOf(folder: string): Promise<Tool> {
  const registry = new ToolRegistry();
  const modules = await createModuleTools({
    patterns: ['./tools/*.{ts,js}'],
    baseDir: folder,
    log: () => {},
    registry,
    watch: false,
  });
  onTestFinished(() => modules.close());
  expect(modules.problems).toEqual([]);
  return registry.list()[0]!;
}
