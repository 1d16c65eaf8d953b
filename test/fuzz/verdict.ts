import { leaksIn } from '../security/leaks.ts';
import type { Problem, Reply } from './case.ts';
import { isWellFormed } from './well-formed.ts';

/** What is wrong with the answer to some bytes that were sent as one message. */
export function judge(body: Buffer, reply: Reply): Problem[] {
  const found = judgeAnswer(reply);
  if (!isWellFormed(body) && !isRefusal(reply))
    found.push({ kind: 'a malformed message was accepted', text: `${reply.status} ${short(reply.text)}` });
  return found;
}

/** What is wrong with an answer to any request. Ignores the text of callers: what they sent may come back to them. */
export function judgeAnswer({ status, text }: Reply): Problem[] {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  const found: Problem[] = leaksIn(text).map((leak) => ({
    kind: `an answer shows ${leak}`,
    text: short(text),
  }));
  if (status >= 500 || /"code":-32603\b/.test(text))
    found.push({ kind: 'an internal error', text: `${status} ${short(text)}` });
  if (text === '') {
    if (!WITHOUT_BODY.has(status)) found.push({ kind: 'nothing but a status', text: String(status) });
  } else if (!BEGINNINGS.some((beginning) => text.startsWith(beginning)))
    found.push({ kind: 'an answer that is not JSON-RPC', text: `${status} ${short(text)}` });
  return found;
}

const statuses = new Map<number, number>();

/** How many answers of each status were judged: where they are all refusals, nothing got beyond the gate. */
export function spread(): string {
  const sorted = [...statuses].toSorted(([a], [b]) => a - b);
  return sorted.map(([status, times]) => `${status}: ${times}`).join(', ');
}

// Of these the runtime itself sends those from 400 on, before a request has a body.
const WITHOUT_BODY = new Set([200, 202, 204, 400, 408, 413, 417, 431]);
// JSON-RPC, a list of it, and what the events of a stream begin with.
const BEGINNINGS = ['{"jsonrpc":"2.0"', '[{', 'event:', 'id:', 'data:', 'retry:', ':'];

// A list of answers refuses when each of them does.
function isRefusal({ status, text }: Reply): boolean {
  if (status >= 400) return true;
  const messages = text.startsWith('{') || text.startsWith('[') ? text.split('\n') : dataOf(text);
  if (messages.length === 0) return false;
  return messages
    .flatMap((line) => JSON.parse(line) as object)
    .every((answer) => Object.hasOwn(answer, 'error'));
}

function dataOf(text: string): string[] {
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data!);
}

function short(text: string): string {
  return text.slice(0, 200);
}
