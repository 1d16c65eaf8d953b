import { createInterface } from 'node:readline';
import { canonicalJson } from '../../base/canonical-json.ts';
import { writeExact } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { readJson } from '../../base/parse-json.ts';
import { readRecording, type RecordedLine } from './recording.ts';

// Integers that a number cannot hold are `bigint` in it.
type Message = Readonly<Record<string, unknown>>;

/** `toolcrib replay`: a server over standard input and output that answers from a recording. */
export async function replay(file: string): Promise<void> {
  const answer = createReplay(await readRecording(file));
  for await (const line of createInterface({ input: process.stdin })) {
    for (const message of answer(readMessage(line))) process.stdout.write(`${writeExact(message)}\n`);
  }
}

interface RecordedAnswer {
  /** The messages and questions of the server before its answer, in order. */
  readonly before: Message[];
  answer?: Message;
}

// Answers requests as the recording does: the same request in turn, and the last answer from then on.
function createReplay(lines: readonly RecordedLine[]): (message: Message) => readonly Message[] {
  const recorded = readAnswers(lines);
  const script = new Script();
  return (message) => {
    const { id, method } = message;
    if (id === undefined) return [];
    if (typeof method !== 'string') return script.goOn(id);
    const waiting = recorded.get(keyOf(message));
    const found = waiting && waiting.length > 1 ? waiting.shift() : waiting?.[0];
    if (!found?.answer) return [{ jsonrpc: '2.0', id, ...standIn(message, recorded) }];
    const token = tokenOf(message);
    const before = found.before.flatMap((said) => {
      if (said['method'] !== PROGRESS) return [said];
      return token === undefined ? [] : [withToken(said, token)];
    });
    return script.play([...before, { ...found.answer, id }]);
  };
}

/** Sends the recorded messages, and waits after each question for its answer. */
class Script {
  readonly #waiting = new Map<unknown, readonly Message[]>();
  #asked = 0;

  play(messages: readonly Message[]): readonly Message[] {
    const at = messages.findIndex(isQuestion);
    if (at < 0) return messages;
    // The same question may be open twice.
    const id = `replay-${++this.#asked}`;
    this.#waiting.set(id, messages.slice(at + 1));
    return [...messages.slice(0, at), { ...messages[at], id }];
  }

  /** The messages after a question, once it has an answer of any kind. */
  goOn(id: unknown): readonly Message[] {
    const rest = this.#waiting.get(id);
    this.#waiting.delete(id);
    return rest ? this.play(rest) : [];
  }
}

function readAnswers(lines: readonly RecordedLine[]): Map<string, RecordedAnswer[]> {
  const recorded = new Map<string, RecordedAnswer[]>();
  const open = new Map<unknown, RecordedAnswer>();
  for (const { from, message } of lines) {
    const { id, method } = message;
    if (from === 'client' && id !== undefined && typeof method === 'string') {
      const answer: RecordedAnswer = { before: [] };
      const key = keyOf(message);
      recorded.set(key, [...(recorded.get(key) ?? []), answer]);
      open.set(id, answer);
    } else if (from === 'server') note(message, open);
  }
  return recorded;
}

const PROGRESS = 'notifications/progress';

function note(message: Message, open: Map<unknown, RecordedAnswer>): void {
  const { id, method, params } = message;
  if (method === PROGRESS) {
    if (isObject(params)) open.get(params['progressToken'])?.before.push(message);
  } else if (method === 'notifications/message' || isQuestion(message)) {
    // A recording does not tell which request it belongs to.
    [...open.values()].at(-1)?.before.push(message);
  } else if (method === undefined) {
    const answered = open.get(id);
    if (answered) answered.answer = message;
    open.delete(id);
  }
}

function isQuestion({ id, method }: Message): boolean {
  return id !== undefined && typeof method === 'string' && method !== 'ping';
}

const OPENING = new Set(['initialize', 'server/discover', 'ping']);

// The client's description of itself is not part of the request.
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
  const { _meta, ...own } = isObject(params) ? params : {};
  const asked = writeExact(own)!.slice(0, 200);
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
    const message = readJson(line, 'exact');
    return isObject(message) ? message : {};
  } catch {
    return {};
  }
}
