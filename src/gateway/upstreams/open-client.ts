import type { Client } from '../../client/client.ts';
import { connect } from '../../client/connect.ts';
import type { ClientOptions } from '../../client/options.ts';
import { connectStdio } from '../../client/stdio/connect-stdio.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import type { Account } from './accounts.ts';
import { commandLine } from './command-line.ts';

/** What a connection to an upstream is opened with. */
export interface OpenParts {
  readonly entry: UpstreamEntry;
  readonly account: Account;
  readonly version: string;
  /** Told of what the program writes to its error output. */
  readonly onErrorText: (text: string) => void;
}

/** Connects to an upstream with its own credential. */
export function openClient({ entry, account, version, onErrorText }: OpenParts): Promise<Client> {
  const options: ClientOptions = {
    info: { name: 'toolcrib', version },
    protocol: entry.protocol,
    timeouts: {
      callMs: entry.timeoutSeconds * 1000,
      connectMs: entry.connectSeconds * 1000,
      listMs: entry.connectSeconds * 1000,
    },
    // The stages check both, and what they refuse is on record.
    checkArguments: false,
    checkResults: 'off',
    // The catalog fetches lists, so that a call never sees an old definition while a new one is on its way.
    refreshLists: false,
  };
  if (!('command' in entry)) {
    const transport = entry.type === 'sse' ? { transport: 'sse' as const } : {};
    return connect(entry.url, {
      ...options,
      ...transport,
      headers: { ...entry.headers, ...account.headers },
    });
  }
  const [command, ...args] = commandLine(entry);
  return connectStdio(command, args, {
    ...options,
    env: { ...entry.env, ...account.env },
    ...(entry.cwd !== undefined && { folder: entry.cwd }),
    onErrorText,
  });
}
