import type { Call } from '../core/call.ts';
import type { Next, Stage } from '../core/stage.ts';

/** Counts the calls under way, if there is no record that does. */
export function countCalls(tally: { underWay: number }): Stage {
  const around =
    <C extends Call>(next: Next<C>): Next<C> =>
    async (call) => {
      tally.underWay++;
      try {
        return await next(call);
      } finally {
        tally.underWay--;
      }
    };
  return { name: 'count', wrap: (_tool, next) => around(next), wrapReading: around };
}
