import { notedLongIntegers } from '../../base/exact-json.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { TaskRecord } from '../../core/memory/memory.ts';
import type { Change } from '../../core/source.ts';
import { isObject } from '../../base/json.ts';
import { Turns } from '../../base/turns.ts';
import { dropParams, encodeNotification, type JsonObject } from '../../protocol/wire/json-rpc.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';
import { requireCapabilities } from '../calls/asking.ts';
import type { Announcer, Listener } from './announcer.ts';
import type { Link } from '../link.ts';
import type { KeepAlive } from './keep-alive.ts';
import { CallerLimit } from '../caller-limit.ts';
import { keepSilent } from '../silence.ts';
import type { UnderstoodRequest } from '../request.ts';
import { encodeTask } from '../calls/tasks.ts';

/** Which sources of change exist on this server. */
export interface Audible {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
}

interface Filter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

// How long addresses may be looked for before others have their turn.
const LOOK_MS = 4;

/** The open `subscriptions/listen` requests: each is notified of what it asked for and may see. */
export class Subscriptions {
  readonly #announcer: Announcer;
  readonly #keepAlive: KeepAlive;
  readonly #open = new Set<Subscription>();
  readonly #turns = new Turns();
  readonly #limit = new CallerLimit('subscriptions');
  /** Limits the followed addresses of streams and sessions. */
  readonly followed = new CallerLimit('characters of followed addresses', addressLimits);

  constructor(announcer: Announcer, keepAlive: KeepAlive) {
    this.#announcer = announcer;
    this.#keepAlive = keepAlive;
  }

  /** Opens a subscription; resolves with its closing result when the server ends it. */
  async listen(request: UnderstoodRequest, audible: Audible): Promise<JsonObject> {
    const { link } = request;
    if (!link.canStream)
      throw new ToolcribError('not_acceptable', 'A subscription needs "Accept: text/event-stream".');
    const filter = await this.#honoured(readFilter(request, audible), link.caller);
    const { id } = request.message;
    // Every step adds how to undo it, so that all of them are undone even if a later step fails.
    const endings = [this.#takeRoom(link.caller, filter)];
    try {
      dropParams(request.message);
      // `#keepAlive` keeps it open.
      keepSilent(link);
      const subscription = new Subscription(id, link, filter);
      this.#begin(subscription, endings);
      subscription.acknowledge();
      await link.cancellation.race(subscription.over);
      return { _meta: { [metaKeys.subscriptionId]: id } };
    } finally {
      for (const end of endings.toReversed()) end();
    }
  }

  #begin(subscription: Subscription, endings: (() => void)[]): void {
    const { link, filter } = subscription;
    this.#open.add(subscription);
    link.session?.onHangUp.add(subscription.end);
    endings.push(() => {
      this.#open.delete(subscription);
      link.session?.onHangUp.delete(subscription.end);
    });
    endings.push(this.#announcer.join(subscription));
    for (const uri of filter.resourceSubscriptions ?? [])
      endings.push(this.#announcer.follow(uri, link.caller));
    endings.push(this.#keepAlive.add(() => link.keepAlive?.()));
  }

  // A resource that the caller cannot read is not followed, like one that does not exist.
  async #honoured(filter: Filter, caller: Caller): Promise<Filter> {
    const { resourceSubscriptions: wanted } = filter;
    if (!wanted) return filter;
    const seen: string[] = [];
    let until = 0;
    for (const uri of wanted) {
      // A look takes longer for long addresses, and with many templates.
      if (performance.now() > until) {
        await this.#turns.next(caller.tenant.id);
        until = performance.now() + LOOK_MS;
      }
      if (await this.#announcer.sees(uri, caller)) seen.push(uri);
    }
    return { ...filter, resourceSubscriptions: seen };
  }

  #takeRoom(caller: Caller, { resourceSubscriptions = [], taskIds = [] }: Filter): () => void {
    const leave = this.#limit.take(caller);
    try {
      const forget = this.followed.take(caller, roomFor([...resourceSubscriptions, ...taskIds]));
      return () => {
        leave();
        forget();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Tells of a task to those of its owner's subscriptions that follow it. */
  tellTask(record: TaskRecord): void {
    for (const subscription of this.#open) subscription.hearTask(record);
  }

  /** Ends the subscriptions of callers whose access has ended. */
  dismiss(isGone: (caller: Caller) => boolean): void {
    for (const subscription of this.#open) if (isGone(subscription.caller)) subscription.end();
  }

  /** Ends every subscription properly. */
  end(): void {
    for (const subscription of this.#open) subscription.end();
  }
}

/** One open subscription. */
class Subscription implements Listener {
  readonly over: Promise<void>;
  end!: () => void;
  readonly #id: string | number;
  readonly link: Link;
  readonly filter: Filter;

  constructor(id: string | number, link: Link, filter: Filter) {
    this.#id = id;
    this.link = link;
    this.filter = filter;
    this.over = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  get caller(): Listener['caller'] {
    return this.link.caller;
  }

  acknowledge(): void {
    this.#send('notifications/subscriptions/acknowledged', { notifications: this.filter });
  }

  follows(uri: string): boolean {
    return this.filter.resourceSubscriptions?.includes(uri) ?? false;
  }

  hear(change: Change): void {
    const { toolsListChanged, promptsListChanged, resourcesListChanged } = this.filter;
    switch (change.kind) {
      case 'tools':
        if (toolsListChanged) this.#send('notifications/tools/list_changed');
        break;
      case 'prompts':
        if (promptsListChanged) this.#send('notifications/prompts/list_changed');
        break;
      case 'resources':
        if (resourcesListChanged) this.#send('notifications/resources/list_changed');
        break;
      case 'resource':
        this.#send('notifications/resources/updated', { uri: change.uri });
        break;
    }
  }

  hearTask(record: TaskRecord): void {
    if (record.owner !== ownerOf(this.caller) || !this.filter.taskIds?.includes(record.id)) return;
    this.#send('notifications/tasks', encodeTask(record));
  }

  #send(method: string, params: JsonObject = {}): void {
    // A cancelled subscription is silent at once, even before it is cleaned up.
    if (this.link.cancellation.reason) return;
    const _meta = { [metaKeys.subscriptionId]: this.#id };
    this.link.notify(encodeNotification(method, { ...params, _meta }, notedLongIntegers(params)));
  }
}

function readFilter(request: UnderstoodRequest, audible: Audible): Filter {
  const wanted = request.message.params?.['notifications'];
  if (!isObject(wanted))
    throw new ToolcribError('invalid_params', '"params.notifications" must say what to listen to.');
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions, taskIds } =
    wanted;
  if (taskIds !== undefined) requireCapabilities(['tasks'], request);
  return {
    ...(toolsListChanged === true && audible.tools && { toolsListChanged }),
    ...(promptsListChanged === true && audible.prompts && { promptsListChanged }),
    ...(resourcesListChanged === true && audible.resources && { resourcesListChanged }),
    ...(resourceSubscriptions !== undefined &&
      audible.resources && {
        resourceSubscriptions: readStrings(resourceSubscriptions, 'resourceSubscriptions'),
      }),
    ...(taskIds !== undefined && { taskIds: readStrings(taskIds, 'taskIds') }),
  };
}

function readStrings(value: unknown, name: string): readonly string[] {
  if (Array.isArray(value) && value.length <= 1_000 && value.every((item) => typeof item === 'string'))
    return value;
  throw new ToolcribError(
    'invalid_params',
    `"params.notifications.${name}" must be a list of at most 1,000 texts.`,
  );
}

/** How many characters of addresses may be followed, in all and for one caller: they are kept in memory meanwhile. */
export const addressLimits = { total: 67_108_864, perCaller: 1_048_576 };

// The room of an address beside its characters.
const ROOM_FOR_ONE = 100;

/** How much room some addresses take up. */
export function roomFor(addresses: readonly string[]): number {
  return addresses.reduce((sum, { length }) => sum + length + ROOM_FOR_ONE, 0);
}
