import { roomAfter } from '../../base/json.ts';
import type { Caller } from '../../core/caller.ts';
import type { Result } from '../../core/result.ts';
import { Turns } from '../../base/turns.ts';

const LARGE_BYTES = 65_536;
const SHARE_BYTES = 2 * LARGE_BYTES;

/** Spreads the cleaning of large results over turns of the event loop: many at once would block all other calls. */
export class LargeResults {
  readonly #turns = new Turns();
  #bytesInTurn = 0;

  /** Counts a result that was cleaned in this turn of the event loop. */
  note(bytes: number): void {
    if (bytes < LARGE_BYTES) return;
    if (this.#bytesInTurn === 0) setImmediate(() => (this.#bytesInTurn = 0));
    this.#bytesInTurn += bytes;
  }

  /** Resolves when a result may be cleaned; `undefined` if it may be at once. */
  turnFor(result: Result, { tenant }: Caller): Promise<void> | undefined {
    if (this.#bytesInTurn < SHARE_BYTES && !this.#turns.isUnderWay) return undefined;
    return isLarge(result) ? this.#turns.next(tenant.id) : undefined;
  }
}

function isLarge(result: Result): boolean {
  const json = result.kind === 'needs_input' ? undefined : result.relayed?.jsonOf?.(result);
  // The values of such a result may not have been parsed.
  if (json) return json.end - json.start > LARGE_BYTES;
  try {
    return roomAfter(result, LARGE_BYTES) < 0;
  } catch {
    // The cleaning reports a value that cannot be read.
    return false;
  }
}
