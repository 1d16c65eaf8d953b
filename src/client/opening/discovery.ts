import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';
import { HttpFailure, PermissionDenied, ProgramEnded, RemoteError, ToolTimeout } from '../errors.ts';
import {
  askInTime,
  serverFactsOf,
  handshake,
  LEGACY,
  speak,
  versions,
  type OpeningParts,
  type ServerFacts,
} from './handshake.ts';

/** The revision that a server was found to speak. */
export interface Found {
  readonly facts: ServerFacts;
  /** Whether the server told it; a guess from its silence is not remembered. */
  readonly isProven: boolean;
}

const MODERN = versions.find(({ era }) => era === 'modern')!;
// An answer to a ping shows sooner that a program is up, and only does not know the question.
const PING_SHARE = 1 / 3;

/** Asks the server for its revisions; a server that does not know the question gets a handshake. */
export async function discover(parts: OpeningParts, isPinned: boolean): Promise<Found> {
  speak(parts, MODERN);
  const over = new AbortController();
  const answer = askInTime(parts, { method: 'server/discover' }, over.signal);
  const canBeSilent = parts.probeMs !== undefined && !isPinned;
  try {
    const beside = canBeSilent ? await besideSilence(parts, answer, parts.probeMs) : undefined;
    if (beside && 'era' in beside) return { facts: beside, isProven: false };
    const facts = await conclude(parts, answer, isPinned).catch((error: unknown) => {
      // The server has sent nothing but this refusal.
      throw beside && error instanceof ToolTimeout ? beside : error;
    });
    return { facts, isProven: true };
  } finally {
    over.abort();
  }
}

async function conclude(
  parts: OpeningParts,
  answer: Promise<JsonObject>,
  isPinned: boolean,
): Promise<ServerFacts> {
  try {
    const result = await answer;
    // A handshake may have been tried meanwhile.
    speak(parts, MODERN);
    const meta = isObject(result['_meta']) ? result['_meta'] : {};
    const info = meta[metaKeys.serverInfo] ?? result['serverInfo'];
    const offered = result['supportedVersions'];
    if (Array.isArray(offered) && !offered.includes(MODERN.version))
      return await fallBack(parts, offered, isPinned);
    return serverFactsOf('modern', MODERN.version, { ...result, info });
  } catch (error) {
    const supported = error instanceof RemoteError ? error.data?.['supported'] : undefined;
    // A program that ended may not have known the question.
    const isOld = isOldServer(error) || error instanceof ProgramEnded;
    if (!isOld || (isPinned && !Array.isArray(supported))) throw error;
    if (Array.isArray(supported)) return fallBack(parts, supported, isPinned);
    await parts.transport.restart?.();
    return handshake(parts);
  }
}

/**
 * Does the handshake beside an unanswered discovery. An old program may say nothing to what it does not know, and a new
 * one may be slow: whether it takes the handshake decides. A refusal leaves the decision to the discovery.
 */
async function besideSilence(
  parts: OpeningParts,
  answer: Promise<unknown>,
  probeMs: number,
): Promise<ServerFacts | RemoteError | undefined> {
  const over = new AbortController();
  const { signal } = over;
  const pause = (ms: number): Promise<'silent'> =>
    new Promise((resolve) => {
      const cancel = parts.clock.after(ms, () => resolve('silent'));
      signal.addEventListener('abort', cancel, { once: true });
    });
  const answered = either(answer, 'answered');
  const pingMs = probeMs * PING_SHARE;
  try {
    if ((await Promise.race([answered, pause(pingMs)])) === 'answered') return undefined;
    // Programs read in order: a ping that is answered comes after the answer to the discovery, if there is one.
    const isUp = either(askInTime(parts, { method: 'ping' }, signal), 'up');
    if ((await Promise.race([answered, isUp, pause(probeMs - pingMs)])) === 'answered') return undefined;
    // A server that takes the handshake is spoken to in that era, even if it answers the discovery meanwhile.
    const late = answer.then(
      () => pause(probeMs),
      () => new Promise<never>(() => {}),
    );
    const outcome = await Promise.race([handshake(parts, undefined, signal), late]);
    if (outcome !== 'silent') return outcome;
  } catch (error) {
    if (error instanceof RemoteError) return error;
    // An error that ended both, or came too late for both, is handled by the discovery.
    if (!(error instanceof ProgramEnded || error instanceof ToolTimeout)) throw error;
  } finally {
    over.abort();
  }
  return undefined;
}

// Says that something is over, however it ended.
function either<Name extends string>(work: Promise<unknown>, name: Name): Promise<Name> {
  return work.then(
    () => name,
    () => name,
  );
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

/** Whether this shows that the other era is spoken; refused credentials, failures and slowness say nothing about it. */
export function isOldServer(error: unknown): boolean {
  // With a reason it may be the question that is refused, without one it is the credential.
  if (error instanceof PermissionDenied)
    return error.cause instanceof HttpFailure && error.cause.message !== '';
  if (error instanceof RemoteError) return error.number !== -32020 && error.number !== -32021;
  if (error instanceof HttpFailure) return error.status >= 400 && error.status < 500 && error.status !== 429;
  return error instanceof ToolcribError && error.code === 'invalid_answer';
}
