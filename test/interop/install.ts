import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** How long an installation may take. */
export const INSTALL_MS = 400_000;

/** Where packages are kept that only long tests need. */
export const cache = join(import.meta.dirname, '../../node_modules/.cache/toolcrib');

/** Installs packages into a folder of their own, unless they are there. */
export async function installInto(
  folder: string,
  dependencies: Readonly<Record<string, string>>,
): Promise<void> {
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies });
  const done = join(folder, 'installed.json');
  if (existsSync(done) && readFileSync(done, 'utf8') === manifest) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), manifest);
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--omit=optional', '--legacy-peer-deps'];
  await promisify(execFile)('npm', ['install', ...options], { cwd: folder, timeout: INSTALL_MS });
  writeFileSync(done, manifest);
}
