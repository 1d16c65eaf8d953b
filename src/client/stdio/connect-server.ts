import { ToolcribError } from '../../base/errors.ts';
import type { ServerEntry, ServerEntryInput } from '../../config/servers.ts';
import type { Client } from '../client.ts';
import { connect } from '../connect.ts';
import type { HttpOptions } from '../options.ts';
import { connectStdio } from './connect-stdio.ts';

/** Connects to a server as an entry of `mcpServers` describes it. */
export async function connectMcpServer(entry: ServerEntryInput, options: HttpOptions = {}): Promise<Client> {
  const read = await readEntry(entry);
  if (read.disabled)
    throw new ToolcribError('invalid_setup', 'This server is disabled in the configuration.');
  const timeouts = { callMs: read.timeoutSeconds * 1_000, ...options.timeouts };
  const shared = { protocol: read.protocol, ...options, timeouts };
  if ('command' in read) {
    const { command, args, env, cwd } = read;
    return connectStdio(command, args, { ...shared, env, ...(cwd !== undefined && { folder: cwd }) });
  }
  const transport = read.type === 'sse' ? { transport: 'sse' as const } : {};
  return connect(read.url, { ...transport, ...shared, headers: { ...read.headers, ...options.headers } });
}

async function readEntry(entry: ServerEntryInput): Promise<ServerEntry> {
  // With the first entry: a server need not load what checks it.
  const { readServerEntry } = await import('../../config/servers.ts');
  try {
    return readServerEntry(entry);
  } catch (cause) {
    throw new ToolcribError(
      'invalid_config',
      'The entry needs a "url" or a "command", and no unknown keys.',
      { cause },
    );
  }
}
