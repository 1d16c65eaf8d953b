import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import {
  longIntegersAt,
  noteLongIntegers,
  notedLongIntegers,
  type LongIntegers,
} from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { notedResult } from '../../protocol/decode/message.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import type { Received } from '../../protocol/decode/received.ts';
import { Cancelled } from '../errors.ts';
import type { ServerQuestions } from '../server-questions.ts';

/** The questions that a server needs answered before it continues; their members are kept as they came. */
export type AskedQuestions = Readonly<
  Record<string, { readonly method: string; readonly params: JsonObject }>
>;

/** What is needed to answer the questions of a call. */
export interface RoundParts {
  readonly questions: Pick<ServerQuestions, 'answerAll'>;
  readonly maxRounds: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Sends a request again with the answers as long as the server asks; each answer goes with one request only. */
export async function throughRounds(
  first: Received,
  send: (extra: JsonObject) => Promise<Received>,
  { questions, maxRounds, signal, clock }: RoundParts,
): Promise<Received> {
  let received = first;
  for (let round = 1; received.result['resultType'] === 'input_required'; round++) {
    if (round > maxRounds)
      throw new ToolcribError('cannot_ask', `The server asked in more than ${maxRounds} rounds.`);
    const { requestState } = received.result;
    const asked = readAsked(received);
    const answers = asked && (await questions.answerAll(asked, signal));
    if (!answers) await pause(clock, Math.min(1_000, 50 * 2 ** round), signal);
    received = await send({
      ...(answers && { inputResponses: answers }),
      ...(typeof requestState === 'string' && { requestState }),
    });
  }
  checkKind(received.result['resultType']);
  return received;
}

/** The questions with which a server ended a request; `undefined` if it only wants its state back. */
export function readAsked(received: Received): AskedQuestions | undefined {
  const result = notedResult(received);
  const { inputRequests: asked, requestState: state } = result;
  if (asked === undefined && typeof state === 'string') return undefined;
  if (!isObject(asked)) throw unclear('asks for input without saying what');
  const longs = longIntegersAt(notedLongIntegers(result), 'inputRequests');
  const questions = Object.entries(asked).map(([key, question]) => {
    if (!isObject(question) || typeof question['method'] !== 'string')
      throw unclear(`asks "${key}" unclearly`);
    return [
      key,
      { method: question['method'], params: paramsOf(question, longIntegersAt(longs, key)) },
    ] as const;
  });
  return questions.length === 0 ? undefined : Object.fromEntries(questions);
}

/** The parameters of a question, whose long integers are noted of them. */
export function paramsOf({ params }: JsonObject, longs: LongIntegers | undefined): JsonObject {
  if (!isObject(params)) return {};
  noteLongIntegers(params, longIntegersAt(longs, 'params'));
  return params;
}

function checkKind(kind: unknown): void {
  if (kind !== undefined && kind !== 'complete' && kind !== 'task')
    throw unclear(`answers with a result of the unknown kind ${JSON.stringify(kind)?.slice(0, 40)}`);
}

function unclear(problem: string): ToolcribError {
  return new ToolcribError('invalid_answer', `The server ${problem}.`);
}

/** Waits, at most until the caller gives up. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(new Cancelled({ cause: signal.reason }));
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
