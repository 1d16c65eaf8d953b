import { join, resolve } from 'node:path';
import type { LoadedConfig } from '../../gateway/settings/load-config.ts';
import { packageFolder } from '../package-version.ts';
import { printable } from '../table.ts';
import { entriesFor, type ClientSnippet, type ReachedByCommand } from './entries.ts';
import { INSPECTOR } from './inspector.ts';

const MAX_NAMES = 8;
const PLACE_OF_KEY = 'YOUR-KEY';

/** The output of `toolcrib serve` once it listens: its address, and the entries for clients. */
export function httpGreeting(url: string, tools: readonly string[], loaded: LoadedConfig): string {
  const { config } = loaded;
  const { name, publicUrl, path } = config.server;
  const reached = publicUrl === undefined ? url : new URL(path, publicUrl).href;
  const key = needsKey(loaded) ? PLACE_OF_KEY : undefined;
  const header = key === undefined ? '' : ` --header "Authorization: Bearer ${key}"`;
  const isLocal = !config.auth;
  return [
    `Toolcrib serves ${offered(tools, loaded)} at ${reached}${reached === url ? '' : `, from ${url}`}`,
    '',
    ...entriesFor({ name, url: reached, key }).flatMap(lineOf),
    ...entriesFor(asProgram(loaded)).slice(0, 1).flatMap(lineOf),
    '',
    `  to look around  npx ${INSPECTOR.name}@${INSPECTOR.version} --cli ${reached} --transport http --method tools/list${header}`,
    `  the record      ${recordOf(loaded)}`,
    '',
    isLocal ? 'Only this machine can reach it. Ctrl-C stops it.' : 'Ctrl-C stops it.',
    '',
  ].join('\n');
}

/** The text for a person who started `toolcrib serve --stdio` at a terminal. */
export function stdioGreeting(tools: readonly string[], loaded: LoadedConfig): string {
  return [
    `Toolcrib serves ${offered(tools, loaded)} over standard input and output: JSON-RPC messages, one a line.`,
    'A client usually starts this command by itself. To let it, put this into its configuration:',
    '',
    ...entriesFor(asProgram(loaded)).flatMap(lineOf),
    '',
    'Ctrl-D or Ctrl-C stops it.',
    '',
  ].join('\n');
}

function lineOf({ clients, place, text }: ClientSnippet): string[] {
  return [`  ${clients} (${place})`, ...text.split('\n').map((line) => `    ${line}`)];
}

/** A server as a program that a client starts. */
export function asProgram(loaded: LoadedConfig): ReachedByCommand {
  const { config, file, isDefault } = loaded;
  const key = needsKey(loaded) && !config.auth?.stdio ? PLACE_OF_KEY : undefined;
  const main = join(packageFolder, 'dist/cli/main.js');
  const args = [main, 'serve', '--stdio', ...(isDefault ? [] : ['--config', resolve(file)])];
  return { name: config.server.name, command: process.execPath, args, key };
}

function needsKey({ config }: LoadedConfig): boolean {
  return config.auth !== undefined;
}

// Other servers are connected when they are needed, so their tools are not known yet.
function offered(tools: readonly string[], { config }: LoadedConfig): string {
  const servers = Object.entries(config.mcpServers ?? {}).flatMap(([name, { disabled }]) =>
    disabled ? [] : [name],
  );
  if (servers.length === 0) return namesOf(tools);
  const others = servers.length > MAX_NAMES ? `${servers.length} other servers` : servers.join(', ');
  return tools.length === 0 ? `the tools of ${others}` : `${namesOf(tools)}, and the tools of ${others}`;
}

function namesOf(tools: readonly string[]): string {
  return tools.length > MAX_NAMES
    ? `${tools.length} tools`
    : tools.map(printable).join(', ') || 'no tools yet';
}

function recordOf({ config: { store, stages }, file, isDefault }: LoadedConfig): string {
  if (isDefault) return 'in memory; it lasts with a toolcrib.yaml';
  if (stages.audit === false) return 'none is kept';
  return store.url === 'memory:' ? 'in memory' : `toolcrib audit tail --config ${file}`;
}
