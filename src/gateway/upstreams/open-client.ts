import { ToolcribError } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import { connect } from '../../client/connect.ts';
import type { ClientOptions } from '../../client/options.ts';
import { connectStdio } from '../../client/stdio/connect-stdio.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import type { Account } from './accounts.ts';
import { commandLine, type LocalEntry } from './command-line.ts';
import type { OpenedConnection } from './pool.ts';
import { createPrivateFolder } from './private-folder.ts';

/** What opening a connection to an upstream needs. */
export interface OpenParts {
  /** What people who are asked something read as the one who asks. */
  readonly name: string;
  /** What the client declared that the connection is for, or all there is where it is for several. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly entry: UpstreamEntry;
  readonly account: Account;
  readonly version: string;
  /** Told of what the program writes to its error output. */
  readonly onErrorText: (text: string) => void;
}

// No honest list needs more; each page may be as large as a message.
const MAX_PAGES = 50;

/** Connects to an upstream with its own credential. */
export async function openClient(parts: OpenParts): Promise<OpenedConnection> {
  const { name, capabilities, entry, account, version } = parts;
  const options: ClientOptions = {
    info: { name: 'toolcrib', version },
    protocol: entry.protocol,
    askedBy: name,
    capabilities,
    timeouts: {
      callMs: entry.timeoutSeconds * 1000,
      connectMs: entry.connectSeconds * 1000,
      listMs: entry.connectSeconds * 1000,
    },
    limits: { messageBytes: entry.maxMessageBytes, pages: MAX_PAGES },
    // The stages check both, and put their refusals on record.
    checkArguments: false,
    checkResults: 'off',
    // The catalog fetches lists, so that a call never sees an old definition while a new one is on its way.
    refreshLists: false,
  };
  if ('command' in entry) return startProgram(entry, parts, options);
  const transport = entry.type === 'sse' ? { transport: 'sse' as const } : {};
  const headers = { ...entry.headers, ...account.headers };
  const client = await connect(entry.url, { ...options, ...transport, headers });
  return { client, close: () => client.close() };
}

async function startProgram(
  entry: LocalEntry,
  { account, onErrorText }: OpenParts,
  options: ClientOptions,
): Promise<OpenedConnection> {
  const [command, ...args] = commandLine(entry);
  const folder = await createPrivateFolder().catch((cause: unknown) => {
    throw new ToolcribError('upstream_unavailable', 'A folder for its process could not be made.', { cause });
  });
  // A sandbox has temporary files of its own, or is told where they are.
  const temporary = entry.sandbox.length === 0 ? { TMPDIR: folder.path } : {};
  try {
    const client: Client = await connectStdio(command, args, {
      ...options,
      env: { ...temporary, ...entry.env, ...account.env },
      folder: entry.cwd ?? folder.path,
      onErrorText,
    });
    const close = async (): Promise<void> => {
      try {
        await client.close();
      } finally {
        await folder.remove();
      }
    };
    return { client, close };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
