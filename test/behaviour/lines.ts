import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { JsonRpcMessage } from '../../src/index.ts';
import type { SendOptions, Wire } from './wires.ts';

interface Waiting {
  readonly resolve: (answer: string | undefined) => void;
  readonly onNotification: SendOptions['onNotification'];
}

/** Talks to a server one line a message, as a client over standard input and output does. */
export function talkInLines(to: Writable, from: Readable): Omit<Wire, 'close'> {
  const heard: string[] = [];
  const waiting = new Map<string, Waiting>();

  const settle = (key: string, answer: string | undefined): void => {
    waiting.get(key)?.resolve(answer);
    waiting.delete(key);
  };
  const hear = (line: string): void => {
    heard.push(line);
    const message = parsed(line);
    if ('method' in message)
      for (const { onNotification } of waiting.values()) onNotification?.(message as JsonRpcMessage);
    // An answer without an id, or that is no JSON, is for whoever has waited longest.
    else settle('id' in message ? JSON.stringify(message['id']) : [...waiting.keys()][0]!, line);
  };
  eachLine(from, hear, () => {
    for (const key of waiting.keys()) settle(key, undefined);
  });

  const send: Wire['send'] = async (text, { onNotification, signal, pieceBytes } = {}) => {
    const message = parsed(text);
    const key = JSON.stringify(message['id'] ?? 'unreadable');
    const wantsAnswer = 'id' in message || !('method' in message);
    const answer = new Promise<string | undefined>((resolve) => {
      if (wantsAnswer) waiting.set(key, { resolve, onNotification });
      else resolve(undefined);
    });
    const cancel = (): void => {
      const params = { requestId: message['id'], reason: 'The user lost interest.' };
      to.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })}\n`);
      settle(key, undefined);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    await writeInPieces(to, Buffer.from(`${text}\n`), pieceBytes);
    return answer;
  };
  return { lasting: true, carriesText: true, heard, send };
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
