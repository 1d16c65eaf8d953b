import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** How long an installation may take. */
export const INSTALL_MS = 400_000;

/** Where packages are kept that only long tests need. */
export const cache = join(import.meta.dirname, '../../node_modules/.cache/toolcrib');

// Newer ones ask for versions that are not there.
const overrides = {
  '@langchain/langgraph': '1.4.18',
  '@langchain/langgraph-checkpoint': '1.1.5',
  '@langchain/protocol': '0.0.19',
};

/**
 * Installs packages into a folder of their own, unless they are there. Returns what npm no longer has, if that keeps
 * them from being installed: no fault of ours, so the tests that need them are not run.
 */
export async function installInto(
  folder: string,
  dependencies: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies, overrides });
  const done = join(folder, 'installed.json');
  if (existsSync(done) && readFileSync(done, 'utf8') === manifest) return undefined;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), manifest);
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--omit=optional', '--legacy-peer-deps'];
  try {
    await promisify(execFile)('npm', ['install', ...options], { cwd: folder, timeout: INSTALL_MS });
  } catch (error) {
    const missing = /No matching version found for \S+/.exec(String(error))?.[0];
    if (missing === undefined) throw error;
    console.warn(`not run: the tests with ${Object.keys(dependencies).join(', ')}. ${missing}`);
    return missing;
  }
  writeFileSync(done, manifest);
  return undefined;
}
