import { handshake } from '../fuzz/messages.ts';
import { within } from '../within.ts';
import type { Client } from './client.ts';
import { OldStream } from './old-stream.ts';
import type { WorstInput } from './worst-input.ts';

/** What came back; of a stream, which may never end, its first message. */
export interface Reply {
  readonly status: number;
  readonly text: string;
}

const PATIENCE_MS = 60_000;

/** Sends the worst inputs, those that need one on a session or stream of their own. */
export class WorstSender {
  readonly #client: Client;
  readonly #port: number;
  readonly #sessions = new Map<WorstInput, Promise<string>>();
  readonly #streams = new Map<WorstInput, Promise<OldStream>>();

  constructor(client: Client, port: number) {
    this.#client = client;
    this.#port = port;
  }

  /** Opens what an input needs, so that sending it is nothing but that. */
  async prepare(input: WorstInput): Promise<void> {
    if (input.on === 'session') await this.#sessionFor(input);
    if (input.on === 'stream') await this.#streamFor(input);
  }

  async send(input: WorstInput): Promise<Reply> {
    return within(PATIENCE_MS, `an answer to ${input.kind}`, this.#send(input));
  }

  close(): void {
    for (const stream of this.#streams.values()) void stream.then((open) => open.hangUp());
  }

  async #send(input: WorstInput): Promise<Reply> {
    const { body, headers } = input;
    if (input.on === 'stream') {
      const stream = await this.#streamFor(input);
      const text = await stream.ask(body, PATIENCE_MS);
      return { status: text === undefined ? 0 : 200, text: text ?? '' };
    }
    const session = input.on === 'session' && { 'mcp-session-id': await this.#sessionFor(input) };
    return this.#client.begin(body, { ...headers, ...session });
  }

  #sessionFor(input: WorstInput): Promise<string> {
    const known = this.#sessions.get(input) ?? this.#openSession();
    this.#sessions.set(input, known);
    return known;
  }

  async #openSession(): Promise<string> {
    const { response } = await this.#client.post(JSON.stringify(handshake('2025-03-26').body), {});
    return String(response.headers['mcp-session-id']);
  }

  #streamFor(input: WorstInput): Promise<OldStream> {
    const known = this.#streams.get(input) ?? this.#openStream();
    this.#streams.set(input, known);
    return known;
  }

  async #openStream(): Promise<OldStream> {
    const stream = new OldStream({ port: this.#port });
    if (!(await stream.open())) throw new Error('The stream of 2024-11-05 did not open.');
    return stream;
  }
}
