import { Client } from '../client.ts';
import type { ClientOptions } from '../options.ts';
import { StdioTransport } from './stdio-transport.ts';

/** What can be set for a server that is a program. */
export interface StdioClientOptions extends ClientOptions {
  /** The folder it runs in; this process's own unless set. */
  readonly folder?: string;
  /** Variables to add to the few it gets anyway. */
  readonly env?: Readonly<Record<string, string>>;
  /** Told of what it writes to its error output. */
  readonly onErrorText?: (text: string) => void;
}

const MAX_ERROR_BYTES = 65_536;
// What programs need to find themselves; credentials of this process are not among it.
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ'];

/** Starts a server as a program and connects to it. */
export async function connectStdio(
  command: string,
  args: readonly string[] = [],
  options: StdioClientOptions = {},
): Promise<Client> {
  const { folder, env, onErrorText } = options;
  const plan = {
    command,
    args,
    folder,
    env: { ...ownEnvironment(), ...env },
    maxErrorBytes: MAX_ERROR_BYTES,
    onErrorText,
  };
  const connectMs = options.timeouts?.connectMs ?? 30_000;
  const client = new Client({
    options,
    address: JSON.stringify([command, args, folder]),
    // Old servers may not answer a method that they do not know.
    probeMs: connectMs / 3,
    transport: (needs) => new StdioTransport(plan, needs),
  });
  await client.open();
  return client;
}

function ownEnvironment(): Record<string, string> {
  const found = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}
