import { ToolcribError } from '../../base/errors.ts';
import { RemoteError } from '../errors.ts';
import type { Dialect } from '../transport.ts';
import { discover, isOldServer } from './discovery.ts';
import { forgetEra, knownEra, noteEra } from './eras.ts';
import {
  serverFactsOf,
  handshake,
  speak,
  versions,
  type OpeningParts,
  type ServerFacts,
} from './handshake.ts';

/** Finds out the revision of the server and agrees on it: by discovery, or by the handshake if there is none. */
export async function open(parts: OpeningParts): Promise<ServerFacts> {
  const { options, address, clock } = parts;
  const wanted = readProtocol(options.protocol ?? 'auto');
  if (wanted.version !== undefined)
    return wanted.era === 'modern' ? assume(parts, wanted.version) : handshake(parts, wanted.version);
  if (wanted.era === 'legacy') return handshake(parts);
  const isPinned = wanted.era === 'modern';
  const known = address === undefined || isPinned ? undefined : knownEra(address, clock.now());
  const remembered = known === 'legacy' ? await handshakeAgain(parts) : undefined;
  if (remembered) return remembered;
  const { facts, isProven } = await discover(parts, isPinned);
  if (address !== undefined && isProven) noteEra(address, facts.era, clock.now());
  return facts;
}

// A server may have been brought up to date since, so a failure is a reason to ask it anew.
async function handshakeAgain(parts: OpeningParts): Promise<ServerFacts | undefined> {
  try {
    return await handshake(parts);
  } catch (error) {
    forgetEra(parts.address!);
    const isOther = error instanceof ToolcribError && error.code === 'unsupported_version';
    if (!isOther && !(error instanceof RemoteError) && !isOldServer(error)) throw error;
    return undefined;
  }
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

function assume(parts: OpeningParts, version: string): ServerFacts {
  speak(parts, { era: 'modern', version });
  return { ...serverFactsOf('modern', version, {}), isAssumed: true };
}
