import type { Clock } from '../base/clock.ts';
import type { SlotList } from '../base/slot-list.ts';
import type { Accidents } from './accidents.ts';
import type { Link } from './link.ts';

const LOOK_MS = 5_000;
const LOOKS = 3;

/** Keeps `Silence` from ever beginning a stream for a request. */
export function keepSilent(link: Link): void {
  link.looks = -1_000_000_000;
}

/**
 * Begins the streams of requests that take long and keeps them open, so that no proxy gives up on them; one timer looks
 * at all.
 */
export class Silence {
  readonly #underWay: SlotList<Link>;
  readonly #clock: Clock;
  readonly #accidents: Accidents;
  #isLooking = false;

  constructor(
    underWay: SlotList<Link>,
    { clock, accidents }: { readonly clock: Clock; readonly accidents: Accidents },
  ) {
    this.#underWay = underWay;
    this.#clock = clock;
    this.#accidents = accidents;
  }

  /** Looks from now on until nothing is under way. */
  watch(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#clock.after(LOOK_MS, () => this.#look());
  }

  // Counted in looks, because reading a clock with every request costs. The first look may come at once: it is no wait.
  #look(): void {
    this.#isLooking = false;
    for (const link of this.#underWay.all())
      if (link.looks++ > 0 && link.looks % LOOKS === 1) this.#accidents.contain(() => link.breakSilence?.());
    if (this.#underWay.size > 0) this.watch();
  }
}
