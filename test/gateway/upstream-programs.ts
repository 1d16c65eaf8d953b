import { fileURLToPath } from 'node:url';
import type { ConfigInput } from '../../src/gateway.ts';

/** What the configuration says of one server. */
export type Entry = NonNullable<ConfigInput['mcpServers']>[string];

/** An entry for the program of the client's tests, which has a tool for each kind of behaviour. */
export function workbench(more: object = {}): Entry {
  const script = fileURLToPath(new URL('../client/fixtures/workbench.mjs', import.meta.url));
  return { command: process.execPath, args: [script, 'stdio'], ...more };
}

/** An entry for one of the small servers in `fixtures`, which need nothing but Node.js. */
export function scripted(name: string, more: object = {}): Entry {
  const script = fileURLToPath(new URL(`fixtures/${name}.mjs`, import.meta.url));
  return { command: process.execPath, args: [script], ...more };
}
