import { logLevels, type ClientLogLevel, type Progress, type Voice } from '../../core/call.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import { readProgressToken, readRequestLogLevel } from '../../protocol/wire/params.ts';
import type { Settled } from '../settled.ts';

/** What one call can say to its client before the answer; nothing is made before it is asked for. */
export class LinkVoice implements Voice {
  readonly #settled: Settled;
  readonly #token: string | number | undefined;
  readonly #logLevel: ClientLogLevel | undefined;
  #lastProgress = -Infinity;
  /** Set where the client can follow tasks. */
  detach?: () => void;
  /** Set where the server publishes. */
  publish?: NonNullable<Voice['publish']>;
  filter?: Voice['filter'];

  constructor(settled: Settled) {
    const { message, revision, link } = settled;
    this.#settled = settled;
    this.#token = readProgressToken(message.params);
    this.#logLevel = revision.era === 'modern' ? readRequestLogLevel(message.params) : link.session?.logLevel;
  }

  get report(): Voice['report'] & {} {
    return (progress) => this.#report(progress);
  }

  get log(): Voice['log'] & {} {
    return (level, data, logger) => {
      const wanted = this.#logLevel;
      if (wanted === undefined || logLevels.indexOf(level) < logLevels.indexOf(wanted)) return;
      this.#say('notifications/message', { level, ...(logger !== undefined && { logger }), data });
    };
  }

  get closeStream(): Voice['closeStream'] & {} {
    return () => this.#settled.link.closeStream?.();
  }

  // Progress must grow, whatever the handler reports.
  #report({ progress, total, message }: Progress): void {
    // What is no finite number would be written as null, which clients do not take.
    if (this.#token === undefined || !(progress > this.#lastProgress && progress < Infinity)) return;
    this.#lastProgress = progress;
    const text = this.#settled.revision.features.progressMessages && message !== undefined ? { message } : {};
    const end = Number.isFinite(total) ? { total } : {};
    this.#say('notifications/progress', { progressToken: this.#token, progress, ...end, ...text });
  }

  #say(method: string, params: Readonly<Record<string, unknown>>): void {
    const { link } = this.#settled;
    if (link.answered || link.cancellation.reason) return;
    link.notify(encodeNotification(method, this.filter ? this.filter(params) : params));
  }
}
