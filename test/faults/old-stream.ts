import { handshake } from '../fuzz/messages.ts';
import { Wire } from '../fuzz/wire.ts';
import { rawRequest } from './raw-request.ts';

/** Whom a stream belongs to, and where its connections come from. */
export interface OldStreamOptions {
  readonly port: number;
  readonly key?: string;
  readonly connect?: () => Wire;
}

const PATIENCE_MS = 20_000;

/** A stream of 2024-11-05 and what is posted beside it: every answer comes on the stream. */
export class OldStream {
  readonly #options: OldStreamOptions;
  readonly #stream: Wire;
  readonly #connect: () => Wire;
  #posts: Wire;
  #target = '';

  constructor(options: OldStreamOptions) {
    this.#options = options;
    const { port, connect = () => new Wire(port) } = options;
    this.#connect = connect;
    this.#stream = connect();
    this.#posts = connect();
  }

  /** Opens it and shakes hands; false when that fails. */
  async open(): Promise<boolean> {
    const { port, key } = this.#options;
    const accept = { accept: 'text/event-stream' };
    this.#stream.write(rawRequest({ port, key, method: 'GET', path: '/sse', headers: accept, length: 0 }));
    const endpoint = /^data: (\/messages\S*)$/m;
    await this.#stream.until(() => endpoint.test(this.#text), PATIENCE_MS);
    this.#target = endpoint.exec(this.#text)?.[1] ?? '';
    if (this.#target === '') return false;
    const answer = await this.ask(Buffer.from(JSON.stringify(handshake('2024-11-05').body)));
    return answer?.includes('"result"') ?? false;
  }

  /** Posts a request and waits for its answer, which is missing when the connection ends. */
  async ask(body: Buffer, patienceMs = PATIENCE_MS): Promise<string | undefined> {
    const { port, key } = this.#options;
    const before = this.#answers.length;
    // The server ends what was idle for some seconds.
    if (this.#posts.isClosed) this.#posts = this.#connect();
    this.#posts.write(rawRequest({ port, key, path: this.#target, headers: {}, length: body.length }));
    this.#posts.write(body);
    await this.#stream.until(() => this.#answers.length > before, patienceMs);
    return this.#answers[before];
  }

  hangUp(): void {
    this.#stream.hangUp();
    this.#posts.hangUp();
  }

  get #text(): string {
    return this.#stream.begun?.text ?? '';
  }

  get #answers(): readonly string[] {
    return [...this.#text.matchAll(/^data: (\{"jsonrpc":"2.0","id":.*)$/gm)].map(([, answer]) => answer!);
  }
}
