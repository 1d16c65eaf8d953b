import { ToolcribError } from '../../base/errors.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import type { Method } from './methods.ts';
import type { Settled } from '../settled.ts';

const MAX_UNDER_WAY = 1_000;

/** Performs a request of a session while it is kept by its id, under which its client cancels. */
export function tracked(settled: Settled, method: Method): Awaitable<string | Buffer> {
  const { message, link } = settled;
  const { underWay, isOver } = link.session!;
  // Found before it ended: nothing would stop what begins on it now.
  if (isOver) throw new ToolcribError('unknown_session', 'The session has ended.');
  if (underWay.has(message.id))
    throw new ToolcribError('invalid_request', 'A request with this id is still under way.');
  if (underWay.size >= MAX_UNDER_WAY) {
    throw new ToolcribError('too_many', `At most ${MAX_UNDER_WAY} requests of a session may be under way.`);
  }
  underWay.set(message.id, link.cancellation);
  const result = orElse(
    () => method(settled),
    (error) => {
      underWay.delete(message.id);
      throw error;
    },
  );
  return andThen(result, (value) => {
    underWay.delete(message.id);
    return value;
  });
}
