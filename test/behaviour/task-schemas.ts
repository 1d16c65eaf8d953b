import {
  CancelTaskResultV2Schema,
  CreateTaskResultV2Schema,
  GetTaskResultV2Schema,
  TaskStatusNotificationV2Schema,
  UpdateTaskResultV2Schema,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import type { Answer, Json } from './peer.ts';

const RESULTS = {
  'tasks/get': GetTaskResultV2Schema,
  'tasks/update': UpdateTaskResultV2Schema,
  'tasks/cancel': CancelTaskResultV2Schema,
};

/** Fails if a result about a task is not as the official package of the extension describes it. */
export function requireTaskResult(method: string, { result }: Answer): void {
  if (!result) return;
  if (result['resultType'] === 'task') CreateTaskResultV2Schema.parse(result);
  else if (method in RESULTS) RESULTS[method as keyof typeof RESULTS].parse(result);
}

/** The same for what is told of tasks unasked. */
export function requireTaskNotification(message: Json): void {
  if (message['method'] === 'notifications/tasks') TaskStatusNotificationV2Schema.parse(message);
}
