import { systemClock, type Clock } from '../../base/clock.ts';
import type { Call, Reading } from '../../core/call.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { BoundedMap } from '../../core/memory/bounded-map.ts';
import type { Next } from '../../core/stage.ts';
import { declaredOpenWorld, type Tool } from '../../core/tool.ts';

// So many callers are remembered. Beyond that, the tenant with most forgets the one that read longest ago.
const LIMITS = {
  caller: { rows: 1, bytes: 1 },
  tenant: { rows: 20_000, bytes: Infinity },
  total: { rows: 200_000, bytes: Infinity },
};

/** The callers who lately read texts written by others, which may have told their models what to do. */
export class UntrustedReads {
  readonly #clock: Clock;
  readonly #readAt = new BoundedMap<number>(LIMITS);

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Notes that a caller gets such a thing now. */
  note(caller: Caller): void {
    const owner = ownerOf(caller);
    this.#readAt.delete(owner);
    this.#readAt.set(owner, this.#clock.ticks(), { owner, bytes: 1 });
  }

  /** Whether a caller did within this time. */
  isRecent(caller: Caller, withinMs: number): boolean {
    const at = this.#readAt.get(ownerOf(caller));
    return at !== undefined && this.#clock.ticks() - at < withinMs;
  }
}

/** Which servers are not trusted, and the callers who read their texts. */
export interface ReadingRule {
  readonly reads: UntrustedReads;
  readonly withinMs: number;
  readonly isTrusted: (server: string) => boolean;
}

/** Whether calls of a tool may send data of a caller elsewhere. */
export function mayReachOutside(tool: Tool): boolean {
  return declaredOpenWorld(tool) !== false;
}

/** Whether results of a tool are written by others: by a server that is not trusted, or outside of its system. */
export function bringsForeignWords(tool: Tool, rule: ReadingRule): boolean {
  return isForeign(tool.place, rule) || declaredOpenWorld(tool) === true;
}

/** Notes who gets them. Before the call too, because a server says things while it runs. */
export function noting<C extends Call>(next: Next<C>, { reads }: ReadingRule): Next<C> {
  return async (call) => {
    reads.note(call.caller);
    try {
      return await next(call);
    } finally {
      reads.note(call.caller);
    }
  };
}

/** The same for the resources, prompts and suggestions among all of them that are written by others. */
export function notingForeign(next: Next<Reading>, rule: ReadingRule): Next<Reading> {
  const noted = noting(next, rule);
  return (call) => (isForeign(placeOf(call), rule) ? noted(call) : next(call));
}

function isForeign(place: Tool['place'], { isTrusted }: ReadingRule): boolean {
  return place !== undefined && !isTrusted(place.source);
}

function placeOf(call: Reading): Tool['place'] {
  switch (call.kind) {
    case 'resource':
      return call.resource.place;
    case 'prompt':
      return call.prompt.place;
    case 'completion':
      return call.target.place;
  }
}
