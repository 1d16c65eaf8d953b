import { encodeQuestions } from './asking.ts';
import type { ServerParts } from '../parts.ts';
import type { Asking } from './runner.ts';
import type { Binding } from './seal.ts';
import type { Settled } from '../settled.ts';

/** What turns unanswered questions into a result. */
export interface InputRequiredOptions {
  readonly settled: Settled;
  readonly parts: ServerParts;
  readonly binding: Binding;
}

/** The encoded result that asks the client: its questions, and the sealed answers so far. */
export async function encodeInputRequired(
  { questions, answers, round = 0 }: Asking,
  options: InputRequiredOptions,
): Promise<string> {
  const { settled, parts, binding } = options;
  const body = {
    resultType: 'input_required',
    inputRequests: encodeQuestions(questions, settled),
    requestState: await parts.seal.close({ answers, round: round + 1 }, binding),
  };
  return JSON.stringify(settled.revision.frame(body, parts.info));
}
