import { describe, onTestFinished } from 'vitest';
import {
  createServer,
  ToolRegistry,
  type Caller,
  type Prompt,
  type Resource,
  type ResourceTemplate,
  type Server,
  type ServerOptions,
  type Tool,
} from '../../src/index.ts';
import { withSchemaCheck } from './schema-check.ts';
import { openPeer, type Json, type Peer } from './peer.ts';
import {
  openFetch,
  openFetchWithoutSession,
  openHttp,
  openInProcess,
  openSse,
  openStdio,
  type OpenWire,
} from './wires.ts';

/** One revision of the protocol, and what it can express. */
export interface RevisionUnderTest {
  readonly version: string;
  /** Whether every request stands alone, or a handshake comes first. */
  readonly era: 'modern' | 'legacy';
  /** Whether tools have annotations. */
  readonly annotations: boolean;
  /** Whether definitions have titles and `_meta`. */
  readonly titles: boolean;
  readonly icons: boolean;
  readonly audio: boolean;
  readonly links: boolean;
  /** Whether progress may come with a message. */
  readonly messages: boolean;
  /** What structured output may be. */
  readonly structured: 'none' | 'objects' | 'any';
  /** How the user can be asked. */
  readonly asks: 'not' | 'forms' | 'forms and pages';
}

/** Every revision the behaviour is stated for, newest first. */
export const revisions: readonly RevisionUnderTest[] = [
  {
    version: '2026-07-28',
    era: 'modern',
    annotations: true,
    titles: true,
    icons: true,
    audio: true,
    links: true,
    messages: true,
    structured: 'any',
    asks: 'forms and pages',
  },
  {
    version: '2025-11-25',
    era: 'legacy',
    annotations: true,
    titles: true,
    icons: true,
    audio: true,
    links: true,
    messages: true,
    structured: 'objects',
    asks: 'forms and pages',
  },
  {
    version: '2025-06-18',
    era: 'legacy',
    annotations: true,
    titles: true,
    icons: false,
    audio: true,
    links: true,
    messages: true,
    structured: 'objects',
    asks: 'forms',
  },
  {
    version: '2025-03-26',
    era: 'legacy',
    annotations: true,
    titles: false,
    icons: false,
    audio: true,
    links: false,
    messages: true,
    structured: 'none',
    asks: 'not',
  },
  {
    version: '2024-11-05',
    era: 'legacy',
    annotations: false,
    titles: false,
    icons: false,
    audio: false,
    links: false,
    messages: false,
    structured: 'none',
    asks: 'not',
  },
];

interface Way {
  readonly open: OpenWire;
  /** The revisions that travel this way; all of them unless told. */
  readonly versions?: readonly string[];
}

const transports = {
  // Without a session an older request cannot say its version, and is taken for the newest with a handshake.
  'in process': { open: openInProcess, versions: ['2026-07-28', '2025-11-25'] },
  fetch: { open: openFetch },
  // Here the header says it; one revision stands for all that have the header.
  'fetch without a session': { open: openFetchWithoutSession, versions: ['2025-06-18'] },
  HTTP: { open: openHttp },
  stdio: { open: openStdio },
  'HTTP with SSE': { open: openSse, versions: ['2024-11-05'] },
} as const satisfies Record<string, Way>;

/** A way to reach a server. */
export type Transport = keyof typeof transports;

/** What is served: tools, resources and prompts, or a source, and any other option of a server. */
export type Setup = Partial<ServerOptions> & {
  readonly tools?: readonly Tool<never>[];
  readonly resources?: readonly (Resource | ResourceTemplate)[];
  readonly prompts?: readonly Prompt[];
};

/** Who connects. */
export interface ClientSetup {
  /** What the client says it can do; nothing unless told. */
  readonly capabilities?: Json;
  /** Is handed the server, for what a client cannot do to it. */
  readonly onServer?: (server: Server) => void;
}

/** One revision over one transport. */
export interface Cell extends RevisionUnderTest {
  readonly transport: Transport;
  /** Whether a handshake is remembered, so that the server can say things unasked and ask back. */
  readonly hasSession: boolean;
  /** Whether the client can be asked something during a call, one way or the other. */
  readonly canBeAsked: boolean;
  /** Starts a server and connects to it; both end with the test. */
  connect(setup?: Setup, client?: ClientSetup): Promise<Peer>;
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
    for (const [transport, way] of Object.entries(transports) as [Transport, Way][]) {
      if (way.versions && !way.versions.includes(revision.version)) continue;
      const cell = toCell(revision, transport, way.open);
      if (applies(cell)) describe(`${revision.version} over ${transport}:`, () => state(cell));
    }
  }
}

/** A registry of what a setup lists, and the options that are left. */
export function toServerOptions(setup: Setup): ServerOptions {
  const { tools = [], resources = [], prompts = [], ...options } = setup;
  const source = new ToolRegistry().registerTool(...tools);
  if (resources.length > 0) source.registerResource(...resources);
  if (prompts.length > 0) source.registerPrompt(...prompts);
  return { source, authenticate: () => ada, ...options };
}

function toCell(revision: RevisionUnderTest, transport: Transport, open: OpenWire): Cell {
  const hasSession =
    revision.era === 'legacy' && transport !== 'in process' && transport !== 'fetch without a session';
  return {
    ...revision,
    transport,
    hasSession,
    canBeAsked: revision.era === 'modern' || hasSession,
    connect: (setup = {}, client = {}) => connectTo({ setup, client, revision, open }),
  };
}

interface Connection {
  readonly setup: Setup;
  readonly client: ClientSetup;
  readonly revision: RevisionUnderTest;
  readonly open: OpenWire;
}

async function connectTo({ setup, client: who, revision, open }: Connection): Promise<Peer> {
  const { onServer, ...client } = who;
  const logged: Peer['logged'] = [];
  const server = createServer({
    log: (level, message, facts) => logged.push({ level, message, facts }),
    ...toServerOptions(setup),
  });
  onServer?.(server);
  const { version, era } = revision;
  const opened = await open(server, { version, era, caller: ada });
  onTestFinished(() => opened.close());
  const wire = withSchemaCheck(opened, { version });
  return openPeer(wire, { version, era, logged, ...client });
}
