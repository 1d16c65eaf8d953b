import type { TaskRecord } from '../../core/memory/memory.ts';
import { parseJson } from '../../base/parse-json.ts';
import { isRunning } from './holder.ts';

/** What is kept under the name of the process that put it there. */
export interface Held {
  readonly record: string;
  readonly holder: string;
}

/** How a task stands: one whose process died has failed, since it runs nowhere and nobody knows how far it came. */
export function settledTask({ record, holder }: Held, own: string): { task: TaskRecord; hasDied: boolean } {
  const task = parseJson(record) as TaskRecord;
  const isOpen = task.status === 'working' || task.status === 'input_required';
  if (!isOpen || isRunning(holder, own)) return { task, hasDied: false };
  const { inputRequests: _asked, ...rest } = task;
  const error = { code: -32603, message: 'The server ended while the task ran; its outcome is unknown.' };
  return { task: { ...rest, status: 'failed', updatedAt: Date.now(), error }, hasDied: true };
}
