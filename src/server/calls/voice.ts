import { notedLongIntegers, type LongIntegers } from '../../base/exact-json.ts';
import { logLevels, type Clean, type ClientLogLevel, type Progress, type Voice } from '../../core/call.ts';
import { encodeNotification, type JsonObject } from '../../protocol/wire/json-rpc.ts';
import { readProgressToken, readRequestLogLevel } from '../../protocol/wire/params.ts';
import type { UnderstoodRequest } from '../request.ts';
import type { Publications } from './publications.ts';

/** A call that can continue after its request was answered: as a task, or waiting for answers. */
export interface ContinuingCall {
  readonly canDetach: boolean;
  readonly canPark: boolean;
  detach(): void;
  park(): void;
}

/** The messages of one call to its client before the answer; nothing is made before it is asked for. */
export class CallVoice implements Voice {
  readonly #publications: Publications | undefined;
  readonly #continuing: ContinuingCall | undefined;
  #request: UnderstoodRequest;
  #token: string | number | undefined;
  #logLevel: ClientLogLevel | undefined;
  #lastProgress = -Infinity;
  #clean: Clean | undefined;

  /** `publications` is set if the server publishes, `continuing` if the call may go on after its request. */
  constructor(
    request: UnderstoodRequest,
    publications: Publications | undefined,
    continuing: ContinuingCall | undefined,
  ) {
    this.#publications = publications;
    this.#continuing = continuing;
    this.#request = request;
    this.#listenTo(request);
  }

  /** Sends its messages to a further request of the same client from now on. */
  moveTo(request: UnderstoodRequest): void {
    this.#request = request;
    this.#lastProgress = -Infinity;
    this.#listenTo(request);
  }

  #listenTo({ message, revision, link }: UnderstoodRequest): void {
    this.#token = readProgressToken(message.params);
    this.#logLevel = revision.era === 'modern' ? readRequestLogLevel(message.params) : link.session?.logLevel;
  }

  get report(): Voice['report'] {
    return this.#token === undefined ? undefined : (progress) => this.#report(progress);
  }

  get logLevel(): ClientLogLevel | undefined {
    return this.#logLevel;
  }

  get log(): Voice['log'] & {} {
    return (level, data, logger) => {
      const wanted = this.#logLevel;
      if (wanted === undefined || logLevels.indexOf(level) < logLevels.indexOf(wanted)) return;
      const longs = typeof data === 'object' && data !== null ? notedLongIntegers(data) : undefined;
      const said = { level, ...(logger !== undefined && { logger }), data };
      this.#say('notifications/message', said, longs && { data: longs });
    };
  }

  get closeStream(): Voice['closeStream'] & {} {
    return () => this.#request.link.closeStream?.();
  }

  get publish(): Voice['publish'] {
    const publications = this.#publications;
    return publications && ((publication) => publications.publish(publication, this.#request.link.caller));
  }

  get detach(): Voice['detach'] {
    const continuing = this.#continuing;
    return continuing?.canDetach ? () => continuing.detach() : undefined;
  }

  get park(): Voice['park'] {
    const continuing = this.#continuing;
    return continuing?.canPark ? () => continuing.park() : undefined;
  }

  cleanWith(clean: Clean): void {
    const inner = this.#clean;
    if (inner === clean) return;
    this.#clean = inner ? (said) => inner(clean(said)) : clean;
  }

  // The protocol requires progress to grow, even if the handler reports less.
  #report(report: Progress): void {
    const { progress, total, message } = report;
    // JSON writes NaN and Infinity as null, which clients refuse.
    if (this.#token === undefined || !(progress > this.#lastProgress && progress < Infinity)) return;
    this.#lastProgress = progress;
    const text = this.#request.revision.features.progressMessages && message !== undefined ? { message } : {};
    const end = Number.isFinite(total) ? { total } : {};
    const said = { progressToken: this.#token, progress, ...end, ...text };
    this.#say('notifications/progress', said, notedLongIntegers(report));
  }

  #say(method: string, params: JsonObject, longs: LongIntegers | undefined): void {
    const { link } = this.#request;
    if (link.answered || link.cancellation.reason) return;
    const clean: Clean = this.#clean ?? ((said) => said);
    link.notify(encodeNotification(method, clean(params), longs && clean(longs)));
  }
}
