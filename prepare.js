/// <reference types="node" />
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

// Written at the end of a build.
const BUILT = 'dist/index.d.ts';
const sources = ['bundle.js', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

// npm runs this after `npm ci`, before it packs, and where the package is installed from git, which has no dist;
// checks and long tests begin with it, so that nothing is built twice.
if (!existsSync('node_modules/rolldown')) {
  if (!existsSync(BUILT)) {
    console.error('Toolcrib cannot be built here: run npm ci with its development packages first.');
    process.exit(1);
  }
} else if (!existsSync(BUILT) || isOlderThanSources(statSync(BUILT).mtimeMs)) {
  process.exit(spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' }).status ?? 1);
}

/** @param {number} builtAt */
function isOlderThanSources(builtAt) {
  // A folder is changed when a file in it is added or removed.
  const inside = readdirSync('src', { recursive: true, encoding: 'utf8' }).map((path) => join('src', path));
  return [...sources, 'src', ...inside].some((path) => existsSync(path) && statSync(path).mtimeMs > builtAt);
}
