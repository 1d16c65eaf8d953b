/// <reference types="node" />
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// npm runs this after `npm ci`, and where the package is installed from git, which has no dist.
if (!existsSync('dist/cli/main.js')) {
  if (!existsSync('node_modules/rolldown')) {
    console.error('Toolcrib cannot be built here: run npm ci with its development packages first.');
    process.exit(1);
  }
  process.exit(spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' }).status ?? 1);
}
