import { createInterface } from 'node:readline';
import { canonicalJson } from '../../base/canonical-json.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { readRecording, type RecordedLine } from './recording.ts';

type Message = Readonly<Record<string, unknown>>;

/** `toolcrib replay`: a server over standard input and output that answers from a recording. */
export async function replay(file: string): Promise<void> {
  const answer = createReplay(await readRecording(file));
  for await (const line of createInterface({ input: process.stdin })) {
    for (const message of answer(readMessage(line))) process.stdout.write(`${JSON.stringify(message)}\n`);
  }
}

interface RecordedAnswer {
  /** What the server said about the request before its answer. */
  readonly progress: Message[];
  answer?: Message;
}

/** Answers requests as the recording does: the same request in turn, and the last answer from then on. */
export function createReplay(lines: readonly RecordedLine[]): (message: Message) => readonly Message[] {
  const recorded = readAnswers(lines);
  return (message) => {
    const { id, method } = message;
    // A notification, or the answer to a question.
    if (id === undefined || typeof method !== 'string') return [];
    const waiting = recorded.get(keyOf(message));
    const found = waiting && waiting.length > 1 ? waiting.shift() : waiting?.[0];
    if (!found?.answer) return [{ jsonrpc: '2.0', id, ...standIn(message, recorded) }];
    const token = tokenOf(message);
    const progress = token === undefined ? [] : found.progress.map((told) => withToken(told, token));
    return [...progress, { ...found.answer, id }];
  };
}

function readAnswers(lines: readonly RecordedLine[]): Map<string, RecordedAnswer[]> {
  const recorded = new Map<string, RecordedAnswer[]>();
  const open = new Map<unknown, RecordedAnswer>();
  for (const { from, message } of lines) {
    const { id, method } = message;
    if (from === 'client' && id !== undefined && typeof method === 'string') {
      const answer: RecordedAnswer = { progress: [] };
      const key = keyOf(message);
      recorded.set(key, [...(recorded.get(key) ?? []), answer]);
      open.set(id, answer);
    } else if (from === 'server') note(message, open);
  }
  return recorded;
}

function note(message: Message, open: ReadonlyMap<unknown, RecordedAnswer>): void {
  const { id, method, params } = message;
  if (method === 'notifications/progress' && isObject(params))
    open.get(params['progressToken'])?.progress.push(message);
  const answered = method === undefined ? open.get(id) : undefined;
  if (answered) answered.answer = message;
}

const OPENING = new Set(['initialize', 'server/discover', 'ping']);

// What a client says of itself is not part of the question.
function keyOf({ method, params }: Message): string {
  const { _meta, ...asked } = isObject(params) ? params : {};
  return OPENING.has(String(method)) ? String(method) : `${String(method)} ${canonicalJson(asked)}`;
}

// A client of another era than the one that was recorded can be answered, too.
function standIn({ method, params }: Message, recorded: ReadonlyMap<string, RecordedAnswer[]>): Message {
  if (method === 'ping') return { result: {} };
  const discovered = recorded.get('server/discover')?.[0]?.answer?.['result'];
  if (method === 'initialize' && isObject(discovered) && isObject(params)) {
    const { capabilities = {} } = discovered;
    const serverInfo = { name: 'toolcrib replay', version: '1' };
    return { result: { protocolVersion: params['protocolVersion'], capabilities, serverInfo } };
  }
  if (method === 'server/discover') return { error: { code: -32601, message: 'Not in the recording.' } };
  const asked = JSON.stringify(params ?? {}).slice(0, 200);
  const message = `The recording has no answer to ${String(method)} ${asked}; record it again.`;
  return { error: { code: -32603, message } };
}

function tokenOf({ params }: Message): unknown {
  const meta = isObject(params) ? params['_meta'] : undefined;
  return isObject(meta) ? meta['progressToken'] : undefined;
}

function withToken(told: Message, progressToken: unknown): Message {
  const params = isObject(told['params']) ? told['params'] : {};
  return { ...told, params: { ...params, progressToken } };
}

function readMessage(line: string): Message {
  try {
    const message = parseJson(line);
    return isObject(message) ? message : {};
  } catch {
    return {};
  }
}
