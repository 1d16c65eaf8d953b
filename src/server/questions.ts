import type { NeedsInput } from '../core/result.ts';
import { encodeQuestions } from './asking.ts';
import type { ServerParts } from './parts.ts';
import type { Binding } from './seal.ts';
import type { Settled } from './settled.ts';

/** What turns unanswered questions into a result. */
export interface InputRequiredOptions {
  readonly settled: Settled;
  readonly parts: ServerParts;
  readonly binding: Binding;
}

/** The encoded result that asks the client: its questions, and the sealed answers so far. */
export async function encodeInputRequired(
  { questions, answers }: NeedsInput,
  options: InputRequiredOptions,
): Promise<string> {
  const { settled, parts, binding } = options;
  const body = {
    resultType: 'input_required',
    inputRequests: encodeQuestions(questions, settled),
    requestState: await parts.seal.close(answers, binding),
  };
  return JSON.stringify(settled.revision.frame(body, parts.info));
}
