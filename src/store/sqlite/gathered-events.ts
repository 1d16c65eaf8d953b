import { tenantOf } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { StreamEvent } from '../../core/memory/memory.ts';
import { eventText, type KeptText } from '../../core/memory/text.ts';
import type { WorkerRequests } from './worker-requests.ts';

// So many bytes are written apart from others in a moment.
const MAX_BYTES = 65_536;
// Estimated cost of storing an event beside its text.
const EVENT_BYTES = 512;

/** An event of a stream that is ready to be stored. */
export type KeptEvent = StreamEvent & KeptText;

interface Gathered {
  readonly stream: string;
  readonly owner: string;
  readonly events: KeptEvent[];
  bytes: number;
  readonly done: Promise<void>;
  readonly resolve: (value: Promise<void>) => void;
}

/** Stores the events of one stream and turn with one operation: one for each event costs many times as much. */
export class GatheredEvents {
  readonly #askApart: WorkerRequests['askApart'];
  readonly #gathered = new Map<string, Gathered>();

  constructor(askApart: WorkerRequests['askApart']) {
    this.#askApart = askApart;
  }

  /** Stores an event; one that is too large, and all that are too much together, fail. */
  keep(stream: string, event: StreamEvent, owner: string): Promise<void> {
    const { text, bytes: size } = eventText(event);
    // SQLite would take half a pair of surrogates out of JSON as bytes that are no UTF-8.
    const kept = { id: event.id.toWellFormed(), text: text.toWellFormed(), bytes: size };
    const bytes = size + EVENT_BYTES;
    const last = this.#gathered.get(stream);
    const isSeparate = last !== undefined && (last.bytes + bytes > MAX_BYTES || last.owner !== owner);
    if (isSeparate) this.#send(last);
    const gathered = last && !isSeparate ? last : this.#begin(stream, owner);
    gathered.events.push(kept);
    gathered.bytes += bytes;
    return gathered.done;
  }

  /** Stores the gathered events of a stream, before another operation on it. */
  flush(stream: string): void {
    const gathered = this.#gathered.get(stream);
    if (gathered) this.#send(gathered);
  }

  #begin(stream: string, owner: string): Gathered {
    let resolve!: Gathered['resolve'];
    const done = new Promise<void>((settle) => (resolve = settle));
    const gathered = { stream, owner, events: [], bytes: 0, done, resolve };
    this.#gathered.set(stream, gathered);
    // At the end of the turn, and before the store can be closed.
    process.nextTick(() => this.#send(gathered));
    return gathered;
  }

  #send(gathered: Gathered): void {
    const { stream, owner, events, bytes } = gathered;
    if (this.#gathered.get(stream) !== gathered) return;
    this.#gathered.delete(stream);
    gathered.resolve(this.#keep({ share: tenantOf(owner), bytes }, { stream, events, owner }));
  }

  async #keep(
    body: Parameters<WorkerRequests['askApart']>[0],
    { stream, events, owner }: Pick<Gathered, 'stream' | 'events' | 'owner'>,
  ): Promise<void> {
    if (await this.#askApart(body, 'keepEvents', stream, events, owner)) return;
    throw new ToolcribError('busy', 'Too many events are kept for this caller or its tenant.');
  }
}
