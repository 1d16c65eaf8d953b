import { logLevels, type Clean, type ClientLogLevel, type Progress, type Voice } from '../../core/call.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import { readProgressToken, readRequestLogLevel } from '../../protocol/wire/params.ts';
import type { UnderstoodRequest } from '../request.ts';
import type { Publications } from './publications.ts';

/** A call that can go on after its request was answered: as a task, or waiting for answers. */
export interface Lasting {
  readonly canDetach: boolean;
  readonly canPark: boolean;
  detach(): void;
  park(): void;
}

/** What one call can say to its client before the answer; nothing is made before it is asked for. */
export class CallVoice implements Voice {
  readonly #publications: Publications | undefined;
  readonly #lasting: Lasting | undefined;
  #request: UnderstoodRequest;
  #token: string | number | undefined;
  #logLevel: ClientLogLevel | undefined;
  #lastProgress = -Infinity;
  #clean: Clean | undefined;

  /** `publications` is there where the server publishes, `lasting` where the call may go on after its request. */
  constructor(
    request: UnderstoodRequest,
    publications: Publications | undefined,
    lasting: Lasting | undefined,
  ) {
    this.#publications = publications;
    this.#lasting = lasting;
    this.#request = request;
    this.#listenTo(request);
  }

  /** Speaks to a further request of the same client from now on. */
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
      this.#say('notifications/message', { level, ...(logger !== undefined && { logger }), data });
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
    const lasting = this.#lasting;
    return lasting?.canDetach ? () => lasting.detach() : undefined;
  }

  get park(): Voice['park'] {
    const lasting = this.#lasting;
    return lasting?.canPark ? () => lasting.park() : undefined;
  }

  cleanWith(clean: Clean): void {
    const inner = this.#clean;
    if (inner === clean) return;
    this.#clean = inner ? (said) => inner(clean(said)) : clean;
  }

  // Progress must grow, whatever the handler reports.
  #report({ progress, total, message }: Progress): void {
    // What is no finite number would be written as null, which clients do not take.
    if (this.#token === undefined || !(progress > this.#lastProgress && progress < Infinity)) return;
    this.#lastProgress = progress;
    const text = this.#request.revision.features.progressMessages && message !== undefined ? { message } : {};
    const end = Number.isFinite(total) ? { total } : {};
    this.#say('notifications/progress', { progressToken: this.#token, progress, ...end, ...text });
  }

  #say(method: string, params: Readonly<Record<string, unknown>>): void {
    const { link } = this.#request;
    if (link.answered || link.cancellation.reason) return;
    link.notify(encodeNotification(method, this.#clean ? this.#clean(params) : params));
  }
}
