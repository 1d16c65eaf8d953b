import { join } from 'node:path';
import { runNode, runTypeScript } from '../behaviour/child.ts';
import { connectV1 } from './client-v1.ts';
import { connectV2 } from './client-v2.ts';
import type { Address, ConnectSdk } from './clients.ts';

/** A client, as its users set it up, and the revision it ends up with. */
export interface Kind {
  readonly kind: string;
  readonly version: '2026-07-28' | '2025-11-25';
  readonly connect: ConnectSdk;
}

/** Streamable HTTP, a child process, or the first HTTP transport with server-sent events. */
export type Transport = 'HTTP' | 'stdio' | 'SSE';

/** Every kind of client. */
export const kinds: readonly Kind[] = [
  { kind: 'SDK v2 pinned to 2026-07-28', version: '2026-07-28', connect: connectV2({ pin: '2026-07-28' }) },
  { kind: 'SDK v2 that finds out', version: '2026-07-28', connect: connectV2('auto') },
  { kind: 'SDK v2 with a handshake', version: '2025-11-25', connect: connectV2('legacy') },
  { kind: 'SDK v1', version: '2025-11-25', connect: connectV1 },
];

/** The kinds of client that shake hands, and so have sessions. */
export const handshakeKinds = kinds.filter(({ version }) => version === '2025-11-25');

const everyCell = kinds.flatMap((kind) =>
  (['HTTP', 'stdio', ...(kind.version === '2025-11-25' ? (['SSE'] as const) : [])] as const).map(
    (transport): Cell => ({ ...kind, transport }),
  ),
);
const differing = [everyCell[0]!, everyCell[3]!, everyCell[6]!, everyCell[7]!];

/** A client on one of its transports. */
export type Cell = Kind & { readonly transport: Transport };

/** Every client on every transport it has. The first four are one of each kind, with every transport among them. */
export const cells = [...differing, ...everyCell.filter((cell) => !differing.includes(cell))];

/** A server of its own, which the caller has to close. */
export interface Fixture {
  readonly address: Address;
  close(): Promise<void>;
}

/** Starts one of the fixtures, or says how a client can. */
export async function openFixture(
  name: 'tool-shop' | 'workshop',
  transport: Transport,
  env: Readonly<Record<string, string>> = {},
): Promise<Fixture> {
  const file = join(import.meta.dirname, `fixtures/${name}.ts`);
  if (transport === 'stdio') {
    const address = { command: process.execPath, args: [runTypeScript, file, '--stdio'] };
    return { address, close: async () => {} };
  }
  const child = runNode([runTypeScript, file], env);
  const url = (await child.outputUntil('\n')).trim();
  const address = transport === 'SSE' ? { url: new URL('/sse', url).href, sse: true } : { url };
  return { address, close: () => child.kill() };
}
