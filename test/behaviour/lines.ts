import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { JsonRpcMessage } from '../../src/index.ts';
import type { SendOptions, Wire } from './wires.ts';

interface Waiting {
  readonly resolve: (answer: string | undefined) => void;
  readonly onNotification: SendOptions['onNotification'];
}

/** One end of a connection that carries messages both ways, in any order. */
export interface Conversation {
  readonly talk: Omit<Wire, 'close'>;
  /** Takes a message that came in. */
  hear(text: string): void;
  /** Nothing more will come in. */
  end(): void;
}

/** Talks to a server one line a message, as a client over standard input and output does. */
export function talkInLines(to: Writable, from: Readable): Omit<Wire, 'close'> {
  const { talk, hear, end } = conversation((text, pieceBytes) =>
    writeInPieces(to, Buffer.from(`${text}\n`), pieceBytes),
  );
  eachLine(from, hear, end);
  return talk;
}

/** Finds the request to each answer; `write` puts a message on its way. */
export function conversation(
  write: (text: string, pieceBytes: number | undefined) => Promise<void>,
): Conversation {
  const heard: string[] = [];
  const waiting = new Map<string, Waiting>();

  const settle = (key: string, answer: string | undefined): void => {
    waiting.get(key)?.resolve(answer);
    waiting.delete(key);
  };
  const hear = (text: string): void => {
    heard.push(text);
    const message = parsed(text);
    if ('method' in message)
      for (const { onNotification } of waiting.values()) onNotification?.(message as JsonRpcMessage);
    // An answer without an id, or that is not JSON, belongs to the oldest request.
    else settle('id' in message ? JSON.stringify(message['id']) : [...waiting.keys()][0]!, text);
  };

  const send: Wire['send'] = async (text, { onNotification, signal, pieceBytes } = {}) => {
    const message = parsed(text);
    const key = JSON.stringify(message['id'] ?? 'unreadable');
    const answer = new Promise<string | undefined>((resolve) => {
      if (wantsAnswer(message)) waiting.set(key, { resolve, onNotification });
      else resolve(undefined);
    });
    const cancel = (): void => {
      const params = { requestId: message['id'], reason: 'The user lost interest.' };
      void write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }), undefined);
      settle(key, undefined);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    await write(text, pieceBytes);
    return answer;
  };
  return {
    talk: { lasting: true, carriesText: true, heard, send },
    hear,
    end: () => {
      for (const key of waiting.keys()) settle(key, undefined);
    },
  };
}

// A request does, and so does an unreadable line; a notification and a response do not.
function wantsAnswer(message: Record<string, unknown>): boolean {
  if ('method' in message) return 'id' in message;
  return !('result' in message || 'error' in message);
}

// Not node:readline, which also takes U+2028 within a message for the end of a line.
function eachLine(from: Readable, onLine: (line: string) => void, onEnd: () => void): void {
  let text = '';
  from.setEncoding('utf8');
  from.on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n');
    text = lines.pop()!;
    for (const line of lines) onLine(line);
  });
  from.on('end', onEnd);
}

async function writeInPieces(to: Writable, bytes: Buffer, pieceBytes = bytes.length): Promise<void> {
  for (let sent = 0; sent < bytes.length; sent += pieceBytes) {
    // A turn of the event loop in between, or the stream would join the pieces again.
    if (sent > 0) await setImmediate();
    to.write(bytes.subarray(sent, sent + pieceBytes));
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
