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
  const libc = libcOfMachine();
  return Object.entries(lock.packages).filter(([path, entry]) => path !== '' && isInstalled(entry, libc))
    .length;
}

// Of a native package that comes in many builds, only the one for this machine is installed.
function isInstalled({ dev = false, os, cpu, libc }: LockEntry, ownLibc: string): boolean {
  const suits = (values: readonly string[] | undefined, value: string): boolean =>
    values === undefined || values.includes(value);
  return !dev && suits(os, process.platform) && suits(cpu, process.arch) && suits(libc, ownLibc);
}

function libcOfMachine(): string {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** The folder of the project, found through its own package.json. */
export const projectFolder = dirname(createRequire(import.meta.url).resolve('toolcrib/package.json'));

interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}

interface LockEntry {
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const comparedPackages = [
  'toolcrib',
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/client',
  'undici',
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
