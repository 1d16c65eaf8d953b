import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Implementation } from '../../protocol/revisions/revision.ts';
import { revisions } from '../../protocol/revisions/revisions.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import type { Connection } from '../connection.ts';
import { ToolTimeout } from '../errors.ts';
import type { ClientOptions } from '../options.ts';
import type { Dialect, Transport } from '../transport.ts';
import type { ConnectLimit } from './connect-limit.ts';

/** The facts that a server tells about itself; untrusted. */
export interface ServerFacts {
  readonly era: Dialect['era'];
  readonly protocolVersion: string;
  readonly info: Implementation | undefined;
  readonly capabilities: JsonObject;
  /** Whether it was not asked, because the revision was given: its capabilities are not known then. */
  readonly isAssumed?: true;
  readonly instructions: string | undefined;
}

/** Whether a server has a part of the protocol, as far as is known. */
export function mayHave(
  { capabilities, isAssumed }: ServerFacts,
  part: 'tools' | 'prompts' | 'resources',
): boolean {
  return isAssumed === true || part in capabilities;
}

/** What is needed to come to an agreement with a server. */
export interface OpeningParts {
  readonly connection: Connection;
  readonly transport: Transport;
  readonly options: ClientOptions;
  readonly info: Implementation;
  readonly capabilities: JsonObject;
  /** The name under which the finding is remembered; `undefined` for a server that is new each time. */
  readonly address: string | undefined;
  /** How long all of it may take. */
  readonly limit: ConnectLimit;
  /** How long a server may be silent before it gets a handshake too; `undefined` where silence proves nothing. */
  readonly probeMs: number | undefined;
  readonly clock: Clock;
}

/** The revisions there are, newest first. */
export const versions: readonly Dialect[] = revisions.map(({ version, era }) => ({ version, era }));
/** Those with a handshake. */
export const LEGACY = versions.filter(({ era }) => era === 'legacy').map(({ version }) => version);

/** Does the handshake; repeated when a session has ended. */
export async function handshake(
  parts: OpeningParts,
  version = LEGACY[0]!,
  signal?: AbortSignal,
): Promise<ServerFacts> {
  const { connection, transport, info, capabilities, limit } = parts;
  speak(parts, { era: 'legacy', version });
  const params = { protocolVersion: version, capabilities, clientInfo: info };
  const result = await askInTime(parts, { method: 'initialize', params }, signal);
  const agreed = result['protocolVersion'];
  if (typeof agreed !== 'string' || !LEGACY.includes(agreed)) {
    throw new ToolcribError(
      'unsupported_version',
      `${transport.label} speaks ${String(agreed).slice(0, 40)}; this client speaks ${versions.map((known) => known.version).join(', ')}.`,
    );
  }
  speak(parts, { era: 'legacy', version: agreed });
  await limit.cover('notifications/initialized', connection.notify('notifications/initialized'));
  return serverFactsOf('legacy', agreed, { ...result, info: result['serverInfo'] });
}

/** Speaks a dialect from now on. */
export function speak({ connection, transport }: OpeningParts, dialect: Dialect): void {
  connection.dialect = dialect;
  transport.agree(dialect);
}

/** Sends a request that belongs to connecting, within the rest of its time. */
export async function askInTime(
  { connection, limit }: OpeningParts,
  { method, params = {} }: { readonly method: string; readonly params?: JsonObject },
  signal?: AbortSignal,
): Promise<JsonObject> {
  try {
    const options = { timeoutMs: limit.leftMs, ...(signal && { signal }) };
    const { result } = await connection.request(method, params, options);
    return result;
  } catch (error) {
    throw error instanceof ToolTimeout ? limit.timedOut(method) : error;
  }
}

/** The facts that a server told about itself, as far as they can be read. */
export function serverFactsOf(era: Dialect['era'], protocolVersion: string, said: JsonObject): ServerFacts {
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
