import type { Clock } from '../../base/clock.ts';
import { ToolTimeout } from '../errors.ts';

/** One time limit for all steps until a server is ready, over all transports that are tried. */
export class ConnectLimit {
  readonly #clock: Clock;
  readonly #ms: number;
  #until = 0;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.restart();
  }

  /** How much of it is left. */
  get leftMs(): number {
    return Math.max(1, this.#until - this.#clock.ticks());
  }

  /** Lets it begin anew: a person took time to sign in, or a new session is needed. */
  restart(): void {
    this.#until = this.#clock.ticks() + this.#ms;
  }

  /** Settles as this step does, or fails when the time is up. */
  async cover<T>(step: string, work: Promise<T>): Promise<T> {
    let stop = (): void => {};
    const late = new Promise<never>((_resolve, reject) => {
      stop = this.#clock.after(this.leftMs, () => reject(this.timedOut(step)));
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      stop();
    }
  }

  /** The error of a step at which the time was up. */
  timedOut(step: string): ToolTimeout {
    return new ToolTimeout(`${step} had no answer within the ${this.#ms / 1000} s that connecting may take.`);
  }
}
