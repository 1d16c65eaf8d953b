import { ToolcribError } from '../base/errors.ts';
import type { Batch } from '../protocol/wire/json-rpc.ts';
import { isHandshake, isModern } from './message-kinds.ts';
import type { Session } from './sessions/session.ts';

const MAX_BATCH = 50;

/** Why none of a batch is run, if so. */
export function flawOfBatch({ messages }: Batch, session: Session | undefined): ToolcribError | undefined {
  if (!session?.revision?.features.batches) {
    return new ToolcribError(
      'invalid_request',
      'Send one message at a time; only sessions of 2025-03-26 take batches.',
    );
  }
  if (messages.length <= MAX_BATCH && !messages.some((message) => isModern(message) || isHandshake(message)))
    return undefined;
  return new ToolcribError(
    'invalid_request',
    `A batch holds at most ${MAX_BATCH} messages, and no handshake.`,
  );
}

/** Whether a request has the id of one before it: answers are told apart by nothing else. */
export function repeatsId(messages: Batch['messages'], index: number): boolean {
  const message = messages[index]!;
  if (message.kind !== 'request') return false;
  return messages.slice(0, index).some((each) => each.kind === 'request' && each.idText === message.idText);
}

/** The answer for such a request. */
export function repeatedId(): ToolcribError {
  return new ToolcribError('invalid_request', 'Another request of the batch has this id.');
}
