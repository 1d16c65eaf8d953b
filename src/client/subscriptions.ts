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
  /** Changes are announced from now on; earlier ones may have been missed. */
  onOpen(): void;
  onWarning(text: string): void;
}

/** One of the lists that a server tells the changes of. */
export type FollowedList = 'tools' | 'prompts' | 'resources';

const MEMBERS = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

/** The stream on which a server of the newest revision announces changes; opened again when it breaks. */
export class Subscriptions {
  readonly #parts: SubscriptionParts;
  readonly #lists = new Set<FollowedList>();
  readonly #uris = new Set<string>();
  readonly #warned = new Set<string>();
  #current: AbortController | undefined;
  #cancelWait: (() => void) | undefined;
  #isQueued = false;
  #isClosed = false;
  #failures = 0;
  // What the server agreed to announce; `undefined` while no stream is open.
  #agreed: JsonObject | undefined;

  constructor(parts: SubscriptionParts) {
    this.#parts = parts;
  }

  /** Whether the server announces changes of a list right now. */
  announces(list: FollowedList): boolean {
    return this.#lists.has(list) && this.#agreed?.[MEMBERS[list]] === true;
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
    this.#warned.delete(uri);
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
    const wanted = this.#wanted();
    const onNotice = (method: string, params: JsonObject): void => {
      if (method === 'notifications/subscriptions/acknowledged') {
        if (this.#current !== controller || isAcknowledged) return;
        isAcknowledged = true;
        // A server that does not say what it agreed to announces all that was asked for.
        this.#agreed = isObject(params['notifications']) ? params['notifications'] : wanted;
        this.#failures = 0;
        this.#warn();
        this.#parts.onOpen();
      } else if (isAcknowledged && isWanted(method)) this.#parts.onNotice(method, params);
    };
    try {
      await this.#parts.connection.request(
        'subscriptions/listen',
        { notifications: wanted },
        { signal: controller.signal, timeoutMs: Infinity, onNotice, isEndless: true },
      );
      if (!isAcknowledged) return this.#lack();
    } catch (error) {
      if (this.#isClosed || this.#current !== controller || controller.signal.aborted) return;
      if (!isAcknowledged && isFinal(error)) return this.#lack();
    }
    if (this.#current !== controller) return;
    this.#lose();
    this.#openLater();
  }

  // The server has no such stream.
  #lack(): void {
    this.#lose();
    this.#warn();
  }

  // Whoever follows a resource would wait for nothing.
  #warn(): void {
    const agreed = this.#agreed?.['resourceSubscriptions'];
    for (const uri of this.#uris) {
      if (this.#warned.has(uri) || (Array.isArray(agreed) && agreed.includes(uri))) continue;
      this.#warned.add(uri);
      this.#parts.onWarning(`The server does not announce changes of ${uri}.`);
    }
  }

  // Until it is open again nothing is announced.
  #lose(): void {
    const wasOpen = this.#agreed !== undefined;
    this.#agreed = undefined;
    if (wasOpen) this.#parts.onGap();
  }

  #wanted(): JsonObject {
    return {
      ...Object.fromEntries([...this.#lists].map((list) => [MEMBERS[list], true])),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    };
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
