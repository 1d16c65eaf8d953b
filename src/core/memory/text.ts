import { createHash } from 'node:crypto';
import { ToolcribError } from '../../base/errors.ts';
import { maxKept } from './limits.ts';
import type { SessionRecord, StreamEvent, TaskRecord } from './memory.ts';

/** A body that is ready to be kept, and how many bytes it has. */
export interface KeptText {
  readonly text: string;
  readonly bytes: number;
}

/** A task as it is kept; one whose outcome is too large is kept as ended, with the digest of the outcome. */
export function taskText(record: TaskRecord): KeptText {
  const whole = measured(JSON.stringify(record));
  return whole.bytes <= maxKept.outcome ? whole : endedTaskText(record);
}

/** A task as it is kept without its outcome. */
export function endedTaskText(record: TaskRecord): KeptText {
  const { result, error, inputRequests, ...rest } = record;
  if (inputRequests) throw new ToolcribError('tool_failed', 'What the task asks is too large to be kept.');
  const left = notKept(JSON.stringify(result ?? error ?? null));
  const message = `The call has ended. ${describeNotKept(left)}`;
  const data = { reason: 'outcome_not_kept', ...left };
  return measured(JSON.stringify({ ...rest, status: 'failed', error: { code: -32603, message, data } }));
}

/** A session as it is kept; one that is too large is refused. */
export function sessionText(record: SessionRecord): KeptText {
  const kept = measured(JSON.stringify(record));
  if (kept.bytes <= maxKept.session) return kept;
  throw new ToolcribError('too_large', 'What the client says of itself is too large to be kept.');
}

/** An event as it is kept; one that is too large is refused. */
export function eventText({ text }: StreamEvent): KeptText {
  const kept = measured(text);
  if (kept.bytes <= maxKept.event) return kept;
  throw new ToolcribError('too_large', 'The event is too large to be kept.');
}

/** What is left of a body that is not kept. */
export interface NotKept {
  /** The SHA-256 of its text. */
  readonly digest: string;
  readonly bytes: number;
}

/** What to keep in the place of a text. */
export function notKept(text: string): NotKept {
  return { digest: createHash('sha256').update(text).digest('base64url'), bytes: Buffer.byteLength(text) };
}

/** A sentence about it, for the client that asks for the body. */
export function describeNotKept({ digest, bytes }: NotKept): string {
  return `Its outcome (${bytes} bytes, SHA-256 ${digest}) was too large to keep, or made room for later ones.`;
}

function measured(text: string): KeptText {
  return { text, bytes: Buffer.byteLength(text) };
}
