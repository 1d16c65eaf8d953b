import type { Batch, Message } from '../protocol/wire/json-rpc.ts';
import { metaKeys, metaOf } from '../protocol/wire/meta.ts';

/** Whether a message says of itself that it is of the modern era. */
export function isModern(message: Message | Batch): boolean {
  return 'params' in message && metaOf(message.params)[metaKeys.protocolVersion] !== undefined;
}

/** Whether a message opens a session. */
export function isHandshake(message: Message | Batch): boolean {
  return 'method' in message && message.method === 'initialize';
}
