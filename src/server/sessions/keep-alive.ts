import type { Clock } from '../../base/clock.ts';
import type { Accidents } from '../accidents.ts';

/** How often a quiet stream is kept open. */
export const KEEP_ALIVE_MS = 15_000;

/** Keeps quiet streams open, with one timer for all of them. */
export class KeepAlive {
  readonly #clock: Clock;
  readonly #accidents: Accidents;
  readonly #beats = new Set<() => void>();
  #stop: (() => void) | undefined;

  constructor(clock: Clock, accidents: Accidents) {
    this.#clock = clock;
    this.#accidents = accidents;
  }

  /** Calls `beat` regularly until the returned function is called. */
  add(beat: () => void): () => void {
    this.#beats.add(beat);
    this.#schedule();
    return () => {
      this.#beats.delete(beat);
      if (this.#beats.size > 0) return;
      const stop = this.#stop;
      this.#stop = undefined;
      // What else ends with its stream must end all the same.
      if (stop) this.#accidents.contain(stop);
    };
  }

  #schedule(): void {
    this.#stop ??= this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#stop = undefined;
      for (const beat of this.#beats) this.#accidents.contain(beat);
      if (this.#beats.size > 0) this.#schedule();
    });
  }
}
