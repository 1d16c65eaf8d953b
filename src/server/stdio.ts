import type { Readable, Writable } from 'node:stream';
import { localCaller, type Caller } from '../core/caller.ts';
import { ToolcribError } from '../base/errors.ts';
import { parseJson } from '../base/parse-json.ts';
import { encodeError } from '../protocol/wire/json-rpc.ts';
import type { Server } from './create-server.ts';
import { LineReader } from '../protocol/wire/line-reader.ts';
import type { Accidents } from './accidents.ts';
import { refusalAnswer, textOf, type Answer } from './answer.ts';
import { createLink } from './link.ts';
import { noteRefusal } from './refusals.ts';
import { Session } from './sessions/session.ts';
import { keepsNothing } from './sessions/stream.ts';

/** The streams to use, and the caller at the other end. */
export interface StdioOptions {
  readonly input?: Readable;
  readonly output?: Writable;
  /** The local caller unless set: the user who started the process. */
  readonly caller?: Caller;
}

const MAX_LINE_BYTES = 4_194_304;

/**
 * Serves one client over standard input and output; resolves when the client has closed its end and every answer is
 * out.
 */
export async function serveStdio(server: Server, options: StdioOptions = {}): Promise<void> {
  const { input = process.stdin, output = process.stdout, caller = localCaller } = options;
  const session = new Session('stdio', caller, keepsNothing);
  const { accidents } = server.options;
  const out = new LineWriter(output, accidents);
  const working = new Set<Promise<void>>();

  const answer = (line: Buffer): void => {
    const link = createLink(caller, (message) => out.write(message), session);
    const say = ({ body }: Answer): void => accidents.deliver(body, link.idText, (text) => out.write(text));
    const work = server.exchange.answer(line, link);
    if (!(work instanceof Promise)) {
      say(work);
      return;
    }
    const said: Promise<void> = work.then(say).finally(() => working.delete(said));
    working.add(said);
  };
  const reader = new LineReader(MAX_LINE_BYTES, answer, () => {
    const tooLong = new ToolcribError('too_large', `A line may have at most ${MAX_LINE_BYTES} bytes.`);
    noteRefusal(server.options, tooLong, { caller });
    out.write(textOf(refusalAnswer(undefined, tooLong).body!));
  });
  session.serverStream.attach({ event: (text) => out.write(text), end: () => {} });

  try {
    for await (const chunk of input) {
      reader.push(chunk as Buffer);
      // No reading while the client does not read, or the answers would pile up here.
      if (out.backlog) await out.backlog;
    }
    reader.end();
    session.hangUp();
    await Promise.all(working);
    await out.flushed();
  } finally {
    session.end();
  }
}

/** Writes lines in batches: one write per turn of the event loop. */
class LineWriter {
  readonly #output: Writable;
  readonly #accidents: Accidents;
  #pending: string[] = [];
  #broken = false;
  #release: () => void = () => {};

  /** Settles once the client has read on; absent while it keeps up. */
  backlog: Promise<void> | undefined;

  constructor(output: Writable, accidents: Accidents) {
    this.#output = output;
    this.#accidents = accidents;
    const end = (): void => {
      this.#broken = true;
      this.#release();
    };
    output
      .on('error', end)
      .on('close', end)
      .on('drain', () => this.#release());
  }

  write(line: string): void {
    if (this.#broken) return;
    if (this.#pending.push(line) === 1) setImmediate(() => this.#flush());
  }

  flushed(): Promise<void> {
    this.#flush();
    if (this.#broken) return Promise.resolve();
    return new Promise((resolve) => {
      this.#output.write('', () => resolve());
    });
  }

  // Together, because every write costs; where that fails one by one, so that only what cannot be written is lost.
  #put(lines: readonly string[]): boolean {
    try {
      return this.#output.write(`${lines.join('\n')}\n`);
    } catch (error) {
      if (lines.length > 1) return lines.map((line) => this.#put([line])).every(Boolean);
      this.#replace(lines[0]!, error);
      return true;
    }
  }

  #replace(line: string, error: unknown): void {
    const known = this.#accidents.report(error);
    try {
      const { id, method } = parseJson(line) as { id?: unknown; method?: unknown };
      // No client waits for an answer to a notification.
      if (method === undefined) this.#output.write(`${encodeError(JSON.stringify(id), known)}\n`);
    } catch {
      // The way to the client is broken, and the log says why.
    }
  }

  #flush(): void {
    if (this.#pending.length === 0 || this.#broken) return;
    const lines = this.#pending;
    this.#pending = [];
    if (this.#put(lines)) return;
    this.backlog ??= new Promise((resolve) => {
      this.#release = () => {
        this.backlog = undefined;
        resolve();
      };
    });
  }
}
