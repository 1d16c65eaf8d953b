import { PassThrough } from 'node:stream';
import { listen } from '../../src/server/node-http.ts';
import { serveStdio } from '../../src/server/stdio.ts';
import { Client } from './client.ts';
import type { Governed } from './governed.ts';
import { toRequest, type Sent, type Reply } from './hammer.ts';
import { isRequest } from './well-formed.ts';

/** A way in: what is sent through it, and how it is closed. */
export interface Way {
  send(message: Sent): Promise<Reply>;
  close(): Promise<void>;
}

/** Straight into the server, as another program embeds it. */
export function byFetch({ server }: Governed): Way {
  return {
    async send(message) {
      const response = await server.fetch(toRequest(message));
      return { status: response.status, text: await response.text() };
    },
    close: async () => {},
  };
}

/** Over connections of the loopback address that are kept. */
export async function bySocket({ server }: Governed): Promise<Way> {
  const listening = await listen(server, { port: 0 });
  const client = new Client({ port: Number(new URL(listening.url).port), connections: 16 });
  return {
    async send({ body, headers }) {
      const { response, text } = await client.post(body, { ...headers, host: '127.0.0.1' });
      return { status: response.statusCode ?? 0, text };
    },
    async close() {
      client.close();
      await listening.close();
    },
  };
}

/** Over standard input and output, one message after the other: what is answered in between belongs to it. */
export function byStdio({ server, caller }: Governed): Way {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveStdio(server, { input, output, caller });
  const lines = new Lines(output);
  let turn: Promise<unknown> = Promise.resolve();
  let last = 0;
  const exchange = async (body: Buffer): Promise<Reply> => {
    const marker = `marker-${++last}`;
    const before = lines.list.length;
    input.write(Buffer.concat([body, Buffer.from(`\n${markerLine(marker)}\n`)]));
    const answers = (): string[] =>
      lines.list.slice(before).filter((line) => !line.includes(`"id":"${marker}"`));
    const isOver = (): boolean =>
      lines.list.length - before > answers().length && (!isRequest(body) || answers().length > 0);
    await lines.until(isOver);
    const text = answers().join('\n');
    lines.list.length = 0;
    // A line of nothing is no message.
    const isBlank = body.toString('latin1').trim() === '';
    if (isBlank && text === '') return { status: 400, text: BLANK, body };
    return { status: text === '' ? 202 : 200, text, body };
  };
  return {
    send({ body }) {
      // A line ends where a message does.
      const line = Buffer.from(body).map((byte) => (byte === 10 || byte === 13 ? 32 : byte));
      const answered = turn.then(() => exchange(Buffer.from(line)));
      turn = answered.catch(() => {});
      return answered;
    },
    async close() {
      input.end();
      await served;
    },
  };
}

const BLANK = '{"jsonrpc":"2.0","error":{"code":0,"message":"nothing was sent"}}';
const PATIENCE_MS = 20_000;

function markerLine(id: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' });
}

/** The lines that came so far. */
class Lines {
  readonly list: string[] = [];
  #rest = '';
  #look: () => void = () => {};

  constructor(output: PassThrough) {
    output.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${this.#rest}${text}`.split('\n');
      this.#rest = lines.pop()!;
      this.list.push(...lines);
      this.#look();
    });
  }

  /** Waits until the lines are as they should be. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('A request was never answered.')), PATIENCE_MS);
      this.#look = () => {
        if (!isSo()) return;
        clearTimeout(timer);
        this.#look = () => {};
        resolve();
      };
      this.#look();
    });
  }
}
