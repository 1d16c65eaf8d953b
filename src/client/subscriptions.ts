import type { Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import type { Connection } from './connection.ts';

/** What is followed, and what happens then. */
export interface SubscriptionParts {
  readonly connection: Connection;
  readonly clock: Clock;
  onNotice(method: string, params: JsonObject): void;
  /** Changes may have been missed: what was fetched is no longer good. */
  onGap(): void;
  /** Changes are told from now on; those until now may have been missed. */
  onOpen(): void;
}

/** One of the lists that a server tells the changes of. */
export type FollowedList = 'tools' | 'prompts' | 'resources';

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** The one stream on which a server of the newest revision tells of changes; opened again when it breaks. */
export class Subscriptions {
  readonly #parts: SubscriptionParts;
  readonly #lists = new Set<FollowedList>();
  readonly #uris = new Set<string>();
  #current: AbortController | undefined;
  #cancelWait: (() => void) | undefined;
  #isQueued = false;
  #isClosed = false;
  #failures = 0;
  /** Whether changes are told right now. */
  isOpen = false;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
  }

  /** Follows a list from now on. */
  followList(list: FollowedList): void {
    if (this.#lists.has(list)) return;
    this.#lists.add(list);
    this.#reopen();
  }

  /** Follows a resource, or no longer. */
  followResource(uri: string, wanted: 'follow' | 'leave'): void {
    if (wanted === 'follow' ? this.#uris.has(uri) : !this.#uris.delete(uri)) return;
    if (wanted === 'follow') this.#uris.add(uri);
    this.#reopen();
  }

  /** Ends the stream for good. */
  close(): void {
    this.#isClosed = true;
    this.#cancelWait?.();
    this.#current?.abort();
  }

  // Once a turn, however much was asked for in it.
  #reopen(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(() => {
      this.#isQueued = false;
      this.#cancelWait?.();
      this.#current?.abort();
      if (!this.#isClosed && this.#lists.size + this.#uris.size > 0) void this.#open();
    });
  }

  async #open(): Promise<void> {
    const controller = new AbortController();
    this.#current = controller;
    let isAcknowledged = false;
    const onNotice = (method: string, params: JsonObject): void => {
      if (method === 'notifications/subscriptions/acknowledged') {
        isAcknowledged = true;
        this.isOpen = true;
        this.#failures = 0;
        this.#parts.onOpen();
      } else if (isAcknowledged && isWanted(method)) this.#parts.onNotice(method, params);
    };
    const notifications = {
      ...(this.#lists.has('tools') && { toolsListChanged: true }),
      ...(this.#lists.has('prompts') && { promptsListChanged: true }),
      ...(this.#lists.has('resources') && { resourcesListChanged: true }),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    };
    try {
      await this.#parts.connection.request(
        'subscriptions/listen',
        { notifications },
        { signal: controller.signal, timeoutMs: Infinity, onNotice, isEndless: true },
      );
      if (!isAcknowledged) return;
    } catch (error) {
      if (this.#isClosed || this.#current !== controller || controller.signal.aborted) return;
      if (!isAcknowledged && isFinal(error)) return;
    }
    if (this.#current !== controller) return;
    this.isOpen = false;
    this.#parts.onGap();
    this.#openLater();
  }

  #openLater(): void {
    if (this.#isClosed) return;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** this.#failures++, LONGEST_WAIT_MS);
    // Many clients of one server must not all come back at the same moment.
    this.#cancelWait = this.#parts.clock.after(waitMs * (0.5 + Math.random() / 2), () => void this.#open());
  }
}

function isWanted(method: string): boolean {
  return /^notifications\/(?:(?:tools|prompts|resources)\/list_changed|resources\/updated|tasks)$/.test(
    method,
  );
}

// A server that has no such thing will not have it later either.
function isFinal(error: unknown): boolean {
  return (
    error instanceof ToolcribError &&
    !['upstream_unavailable', 'timed_out', 'invalid_answer'].includes(error.code)
  );
}

/** The address a notice about a resource names. */
export function updatedUri(params: JsonObject): string | undefined {
  return isObject(params) && typeof params['uri'] === 'string' ? params['uri'] : undefined;
}
