import { describe, onTestFinished } from 'vitest';
import { createServer, ToolRegistry, type Caller, type ServerOptions, type Tool } from '../../src/index.ts';
import { openPeer, type Peer } from './peer.ts';
import { openFetch, openHttp, openInProcess, openStdio, type OpenWire } from './wires.ts';

/** One revision of the protocol, and whether it has a handshake. */
export interface RevisionUnderTest {
  readonly version: string;
  readonly era: 'modern' | 'legacy';
}

/** Every revision the behaviour is stated for. */
export const revisions: readonly RevisionUnderTest[] = [
  { version: '2026-07-28', era: 'modern' },
  { version: '2025-06-18', era: 'legacy' },
];

const transports = {
  'in process': openInProcess,
  fetch: openFetch,
  HTTP: openHttp,
  stdio: openStdio,
} as const satisfies Record<string, OpenWire>;

/** A way to reach a server. */
export type Transport = keyof typeof transports;

/** What is served: tools, or a source, and any other option of a server. */
export type Setup = Partial<ServerOptions> & { readonly tools?: readonly Tool<never>[] };

/** One revision over one transport. */
export interface Cell extends RevisionUnderTest {
  readonly transport: Transport;
  /** Starts a server and connects to it; both end with the test. */
  connect(setup?: Setup): Promise<Peer>;
}

/** Who calls, on every transport. */
export const ada: Caller = {
  id: 'ada',
  tenant: { id: 'acme', name: 'Acme', data: { plan: 'pro' } },
  scopes: ['tools'],
  roles: [],
};

/** States what a caller sees, for every revision over every transport. */
export function describeMatrix(
  state: (cell: Cell) => void,
  applies: (cell: Cell) => boolean = () => true,
): void {
  for (const revision of revisions) {
    for (const [transport, open] of Object.entries(transports) as [Transport, OpenWire][]) {
      const connect = (setup: Setup = {}): Promise<Peer> => connectTo(setup, revision, open);
      const cell: Cell = { ...revision, transport, connect };
      if (applies(cell)) describe(`${revision.version} over ${transport}:`, () => state(cell));
    }
  }
}

async function connectTo(setup: Setup, revision: RevisionUnderTest, open: OpenWire): Promise<Peer> {
  const { tools = [], ...options } = setup;
  const logged: Peer['logged'] = [];
  const server = createServer({
    source: new ToolRegistry().registerTool(...tools),
    authenticate: () => ada,
    log: (level, message, facts) => logged.push({ level, message, facts }),
    ...options,
  });
  const wire = await open(server, { ...revision, caller: ada });
  onTestFinished(() => wire.close());
  return openPeer(wire, { ...revision, logged });
}
