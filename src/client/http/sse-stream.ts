import { ToolcribError } from '../../base/errors.ts';
import { HttpFailure } from '../errors.ts';
import type { Stoppable } from '../pending-request.ts';
import { describeFailure } from './failure.ts';
import { Reply } from './reply.ts';

/** What a stream is made with. */
export interface SseStreamParts {
  readonly url: URL;
  readonly label: string;
  readonly maxBytes: number;
  onMessage(data: Buffer): void;
  /** It ended after it had been open. */
  onLost(error: ToolcribError): void;
}

/** One stream of a server of 2024-11-05, and the address that takes messages as long as it is open. */
export class SseStream implements Stoppable {
  /** What the connection writes to. */
  readonly reply: Reply;
  /** Where messages are posted, or an answer that is no stream. */
  readonly opened: Promise<URL | Reply>;
  readonly #parts: SseStreamParts;
  #settle!: { readonly resolve: (opened: URL | Reply) => void; readonly reject: (error: Error) => void };
  #isOpen = false;

  constructor(parts: SseStreamParts) {
    this.#parts = parts;
    this.opened = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    // Avoids an unhandled rejection if nothing waits for it any more.
    this.opened.catch(() => {});
    this.reply = new Reply(
      {
        onHead: (reply) => this.#begin(reply),
        onMessage: (data, name) => {
          if (name === 'message') parts.onMessage(data);
          else if (name === 'endpoint' && !this.#isOpen) this.#open(data.toString('utf8'));
        },
        onEnd: (reply) => (reply.isStream ? this.#end(cutOff(parts.label)) : this.#settle.resolve(reply)),
        onFailure: (error) => this.#end(describeFailure(error, parts.label)),
      },
      parts.maxBytes,
    );
  }

  stop(): void {
    this.reply.stop();
    this.#settle.reject(new ToolcribError('cancelled', 'The stream is no longer needed.'));
  }

  #begin({ status, isStream }: Reply): void {
    if (status >= 300 || isStream) return;
    this.reply.stop();
    this.#end(new HttpFailure(status, `${this.#parts.label} does not answer with a stream of events.`));
  }

  // An address on another origin would get our credentials, so it is refused.
  #open(text: string): void {
    const { url, label } = this.#parts;
    const target = URL.canParse(text, url.href) ? new URL(text, url) : undefined;
    if (target?.origin === url.origin) {
      this.#isOpen = true;
      this.#settle.resolve(target);
    } else {
      this.reply.stop();
      this.#end(new ToolcribError('refused', `${label} sends messages to another origin.`));
    }
  }

  #end(error: ToolcribError): void {
    this.#settle.reject(error);
    if (this.#isOpen) this.#parts.onLost(error);
  }
}

function cutOff(label: string): ToolcribError {
  const text = `${label} ended its stream; whether a request under way was carried out is not known.`;
  return new ToolcribError('upstream_unavailable', text);
}
