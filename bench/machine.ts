import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, release, totalmem, type } from 'node:os';
import { dirname, join } from 'node:path';
import type { LoadGenerator } from './load.ts';
import type { Settings } from './settings.ts';

/** Describes where and how a run was made, as a Markdown list. */
export function describeMachine(load: LoadGenerator, settings: Settings): string {
  const processors = cpus();
  const { rounds, roundSeconds, connections } = settings;
  const facts = [
    `CPU: ${processors[0]?.model.trim() ?? 'unknown'}, ${processors.length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
    `System: ${type()} ${release()}, Node ${process.version}`,
    `Date: ${new Date().toISOString().slice(0, 10)}`,
    `Load: ${load.name}, ${connections} connections, medians of ${rounds} interleaved rounds of ${roundSeconds} s`,
    `Versions: ${comparedPackages.map((name) => `${name} ${versionOf(name)}`).join(', ')}`,
  ];
  return facts.map((fact) => `- ${fact}`).join('\n');
}

/** How many packages `npm ci --omit=dev` installs. */
export function countInstalledPackages(): number {
  const lock = JSON.parse(readFileSync(join(projectFolder, 'package-lock.json'), 'utf8')) as Lock;
  return Object.entries(lock.packages).filter(([path, entry]) => path !== '' && entry.dev !== true).length;
}

/** The folder of the project, found through its own package.json. */
export const projectFolder = dirname(createRequire(import.meta.url).resolve('toolcrib/package.json'));

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

const comparedPackages = [
  'toolcrib',
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/node',
  'mcp-lite',
  'tmcp',
  '@tmcp/transport-http',
  '@hono/node-server',
  'zod',
];

function versionOf(name: string): string {
  const folder = name === 'toolcrib' ? projectFolder : join(projectFolder, 'node_modules', name);
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}
