import type { TaskRecord } from '../../core/memory/memory.ts';
import { parseJson } from '../../base/parse-json.ts';
import { isRunning } from './holder.ts';

/** A record and the process that stored it. */
export interface Held {
  readonly record: string;
  readonly holder: string;
}

/** A task as it is now: if its process died it has failed, since it runs nowhere and how far it got is unknown. */
export function settledTask({ record, holder }: Held, own: string): { task: TaskRecord; hasDied: boolean } {
  const task = parseJson(record) as TaskRecord;
  const isOpen = task.status === 'working' || task.status === 'input_required';
  if (!isOpen || isRunning(holder, own)) return { task, hasDied: false };
  const { inputRequests: _asked, ...rest } = task;
  const error = { code: -32603, message: 'The server ended while the task ran; its outcome is unknown.' };
  return { task: { ...rest, status: 'failed', updatedAt: Date.now(), error }, hasDied: true };
}
