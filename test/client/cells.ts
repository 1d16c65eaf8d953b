import { join } from 'node:path';
import { connect, type Client, type HttpOptions } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { runNode } from '../behaviour/child.ts';
import { revisions, type RevisionUnderTest } from '../behaviour/matrix.ts';
import { within } from '../within.ts';

const transports = ['HTTP', 'stdio', 'SSE'] as const;

/** One revision over one transport. */
export interface ClientCell extends RevisionUnderTest {
  readonly transport: (typeof transports)[number];
}

/** Transport by transport along the revisions, so that the first few have all of both. */
export const cells: readonly ClientCell[] = [0, 1, 2]
  .flatMap((shift) =>
    revisions.map((revision, index) => ({ ...revision, transport: transports[(index + shift) % 3]! })),
  )
  .filter(({ transport, era }) => transport !== 'SSE' || era === 'legacy');

/** A client of one of the servers in `fixtures`, which runs until it is closed. */
export interface OpenCell {
  readonly client: Client;
  close(): Promise<void>;
}

/** Starts a server and connects to it as a cell says; `through` may lead to it by another address. */
export async function openCell(
  { version, transport }: ClientCell,
  name: string,
  { through = (url) => Promise.resolve(url), ...more }: CellOptions = {},
): Promise<OpenCell> {
  const fixture = join(import.meta.dirname, 'fixtures', name);
  const options = { protocol: version, ...more };
  if (transport === 'stdio') {
    const client = await connectStdio(process.execPath, [fixture, 'stdio'], options);
    return { client, close: () => within(10_000, 'the connection to close', client.close()) };
  }
  const child = runNode([fixture]);
  const direct = (await child.outputUntil('\n')).trim();
  const url = await through(direct);
  // The server knows no other name of itself.
  const headers = { host: new URL(direct).host };
  const client = await (transport === 'HTTP'
    ? connect(url, { ...options, headers, transport: 'http' })
    : connect(new URL('/sse', url), { ...options, headers, transport: 'sse' }));
  return {
    client,
    async close() {
      await within(10_000, 'the connection to close', client.close());
      await child.kill();
    },
  };
}

interface CellOptions extends HttpOptions {
  readonly through?: (url: string) => Promise<string>;
}
