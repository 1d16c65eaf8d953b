import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Implementation } from '../../protocol/revisions/revision.ts';
import { revisions } from '../../protocol/revisions/revisions.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';
import type { Connection } from '../connection.ts';
import { knownEra, noteEra } from './eras.ts';
import { HttpFailure, RemoteError } from '../errors.ts';
import type { ClientOptions } from '../options.ts';
import type { Dialect, Transport } from '../transport.ts';

/** What a server says of itself; untrusted. */
export interface ServerFacts {
  readonly era: Dialect['era'];
  readonly protocolVersion: string;
  readonly info: Implementation | undefined;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
}

/** What is needed to come to an agreement with a server. */
export interface OpeningParts {
  readonly connection: Connection;
  readonly transport: Transport;
  readonly options: ClientOptions;
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  /** Under which name the verdict is remembered; `undefined` for what is new each time. */
  readonly address: string | undefined;
  readonly timeoutMs: number;
  /** How long a server may be silent before it is taken for an old one; `undefined` where silence proves nothing. */
  readonly probeMs: number | undefined;
  readonly now: () => number;
}

const versions = revisions.map(({ version, era }) => ({ version, era }));
const MODERN = versions.filter(({ era }) => era === 'modern').map(({ version }) => version);
const LEGACY = versions.filter(({ era }) => era === 'legacy').map(({ version }) => version);

/** Finds out what the server speaks and agrees on it: discovery first, the handshake where there is none. */
export async function open(parts: OpeningParts): Promise<ServerFacts> {
  const { options, address, now } = parts;
  const wanted = readProtocol(options.protocol ?? 'auto');
  if (wanted.version !== undefined)
    return wanted.era === 'modern' ? assume(parts, wanted.version) : handshake(parts, wanted.version);
  const known = address === undefined ? undefined : knownEra(address, now());
  const era = wanted.era ?? (known === 'legacy' ? 'legacy' : undefined);
  const facts =
    era === 'legacy' ? await handshake(parts, LEGACY[0]!) : await discover(parts, wanted.era === 'modern');
  if (address !== undefined) noteEra(address, facts.era, now());
  return facts;
}

/** Says hello the old way; done again when a session is gone. */
export async function handshake(
  { connection, transport, info, capabilities, timeoutMs }: OpeningParts,
  version: string,
): Promise<ServerFacts> {
  connection.dialect = { era: 'legacy', version };
  transport.agree(connection.dialect);
  const { result } = await connection.request(
    'initialize',
    { protocolVersion: version, capabilities, clientInfo: info },
    { timeoutMs },
  );
  const agreed = result['protocolVersion'];
  if (typeof agreed !== 'string' || !LEGACY.includes(agreed)) {
    throw new ToolcribError(
      'unsupported_version',
      `${transport.label} speaks ${String(agreed).slice(0, 40)}; this client speaks ${versions.map((known) => known.version).join(', ')}.`,
    );
  }
  connection.dialect = { era: 'legacy', version: agreed };
  transport.agree(connection.dialect);
  await connection.notify('notifications/initialized');
  return factsOf('legacy', agreed, { ...result, info: result['serverInfo'] });
}

function readProtocol(protocol: string): { readonly era?: Dialect['era']; readonly version?: string } {
  if (protocol === 'auto') return {};
  if (protocol === 'modern' || protocol === 'legacy') return { era: protocol };
  const known = versions.find(({ version }) => version === protocol);
  if (known) return known;
  throw new ToolcribError(
    'invalid_setup',
    `"protocol" must be auto, modern, legacy or one of ${versions.map(({ version }) => version).join(', ')}.`,
  );
}

function assume({ connection, transport }: OpeningParts, version: string): ServerFacts {
  connection.dialect = { era: 'modern', version };
  transport.agree(connection.dialect);
  return factsOf('modern', version, {});
}

async function discover(parts: OpeningParts, isPinned: boolean): Promise<ServerFacts> {
  const { connection, transport, timeoutMs, probeMs } = parts;
  const [version = ''] = MODERN;
  connection.dialect = { era: 'modern', version };
  transport.agree(connection.dialect);
  const isShort = probeMs !== undefined && !isPinned;
  try {
    const { result } = await connection.request(
      'server/discover',
      {},
      { timeoutMs: isShort ? probeMs : timeoutMs },
    );
    const meta = isObject(result['_meta']) ? result['_meta'] : {};
    const info = meta[metaKeys.serverInfo] ?? result['serverInfo'];
    const offered = result['supportedVersions'];
    if (Array.isArray(offered) && !offered.includes(version)) return await fallBack(parts, offered, isPinned);
    return factsOf('modern', version, { ...result, info });
  } catch (error) {
    const supported = error instanceof RemoteError ? error.data?.['supported'] : undefined;
    if (!isOldServer(error, isShort) || (isPinned && !Array.isArray(supported))) throw error;
    if (Array.isArray(supported)) return fallBack(parts, supported, isPinned);
    await transport.restart?.();
    return handshake(parts, LEGACY[0]!);
  }
}

// The versions a server names may be of both eras.
function fallBack(parts: OpeningParts, offered: readonly unknown[], isPinned: boolean): Promise<ServerFacts> {
  const version = LEGACY.find((known) => offered.includes(known));
  if (version !== undefined && !isPinned) return handshake(parts, version);
  const named = offered
    .filter((item) => typeof item === 'string')
    .slice(0, 10)
    .join(', ');
  throw new ToolcribError(
    'unsupported_version',
    `${parts.transport.label} speaks only ${named.slice(0, 200)}.`,
  );
}

// Refused credentials, failures and slowness say nothing about what a server speaks.
function isOldServer(error: unknown, isShort: boolean): boolean {
  if (error instanceof RemoteError) return error.number !== -32020 && error.number !== -32021;
  if (error instanceof HttpFailure) return error.status >= 400 && error.status < 500 && error.status !== 429;
  if (!(error instanceof ToolcribError)) return false;
  if (error.code === 'invalid_answer') return true;
  return isShort && (error.code === 'timed_out' || error.code === 'upstream_unavailable');
}

function factsOf(era: Dialect['era'], protocolVersion: string, said: JsonObject): ServerFacts {
  const { info, capabilities, instructions } = said;
  return {
    era,
    protocolVersion,
    info:
      isObject(info) && typeof info['name'] === 'string' ? (info as unknown as Implementation) : undefined,
    capabilities: isObject(capabilities) ? capabilities : {},
    instructions: typeof instructions === 'string' ? instructions : undefined,
  };
}
