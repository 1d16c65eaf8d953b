import { randomUUID } from 'node:crypto';
import { noteLongIntegers, notedLongIntegers, type LongIntegers } from '../../base/exact-json.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Question } from '../../core/question.ts';
import { canDo, capabilitiesFor, requirementOf } from '../../core/requirement.ts';
import type { Requirement } from '../../core/tool.ts';
import { encodeQuestion } from '../../protocol/encode/question.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import type { UnderstoodRequest } from '../request.ts';

/**
 * Refuses what needs something the client cannot do: with an error where the revision has one, otherwise with a result.
 */
export function requireCapabilities(
  requirements: readonly Requirement[],
  { client, revision }: UnderstoodRequest,
): void {
  const missing = requirements.filter((requirement) => !canDo(client.capabilities, requirement));
  if (missing.length === 0) return;
  const text = `This needs a client that can do ${missing.join(' and ')}.`;
  if (revision.era === 'legacy') throw new ToolcribError('cannot_ask', text);
  throw new ToolcribError('missing_capability', text, {
    data: { requiredCapabilities: capabilitiesFor(missing) },
  });
}

/** Questions in the form a modern result or a task carries them; throws when the client cannot take one. */
export function encodeQuestions(
  questions: ReadonlyMap<string, Question>,
  request: UnderstoodRequest,
): Record<string, JsonObject> {
  requireCapabilities([...questions.values()].map(requirementOf), request);
  return Object.fromEntries([...questions].map(([key, question]) => [key, wire(question, request.revision)]));
}

/** The long integers of encoded questions, by their place in a result or a task. */
export function longIntegersOfQuestions(
  asked: Readonly<Record<string, JsonObject>>,
): LongIntegers | undefined {
  const found = Object.entries(asked).flatMap(([key, { params }]): [string, LongIntegers][] => {
    const longs = isObject(params) ? notedLongIntegers(params) : undefined;
    return longs ? [[key, { params: longs }]] : [];
  });
  return found.length > 0 ? { inputRequests: Object.fromEntries(found) } : undefined;
}

/** Asks on the call's own stream and waits: how the handshake revisions do it. */
export async function askOnStream(
  questions: ReadonlyMap<string, Question>,
  request: UnderstoodRequest,
): Promise<ReadonlyMap<string, unknown>> {
  const { link } = request;
  const { session } = link;
  if (!session || !link.canStream) {
    throw new ToolcribError(
      'cannot_ask',
      'This needs to ask the client something, and the client keeps no session to be asked on.',
    );
  }
  requireCapabilities([...questions.values()].map(requirementOf), request);
  const answers = [...questions].map(async ([key, question]) => {
    const asked = identified(question, wire(question, request.revision));
    return [key, await session.ask(asked, (message) => link.notify(message), link.cancellation)] as const;
  });
  return new Map(await Promise.all(answers));
}

type WireQuestion = { method: string; params?: JsonObject };

function wire(question: Question, { features, version }: Revision): WireQuestion {
  const encoded = encodeQuestion(question, features);
  if (encoded?.params) noteLongIntegers(encoded.params, question.longIntegers);
  if (encoded) return encoded;
  throw new ToolcribError(
    'cannot_ask',
    `This needs to ask the user, and protocol version ${version} has no way to.`,
  );
}

// The one handshake revision with questions of the kind `url` needs an id in each of them.
function identified(question: Question, asked: WireQuestion): WireQuestion {
  if (question.kind !== 'url') return asked;
  const params = { ...asked.params, elicitationId: randomUUID() };
  noteLongIntegers(params, question.longIntegers);
  return { ...asked, params };
}
