import type { Clock } from '../../base/clock.ts';
import type { Listeners } from '../../client/listeners.ts';
import type { Decision, OnToolCall } from '../../stages/approve/decision.ts';
import type { AgentEvents } from '../agent.ts';

/** The same way to ask a person, with an event before and after each question. */
export function tellingDecision(
  onToolCall: OnToolCall,
  listeners: Listeners<AgentEvents>,
  clock: Clock,
): OnToolCall {
  return async (request) => {
    const startedAt = clock.ticks();
    let isOver = false;
    const end = (decision: Decision | undefined): void => {
      if (isOver) return;
      isOver = true;
      listeners.tell('decision:end', { request, decision, ms: clock.ticks() - startedAt });
    };
    const giveUp = (): void => end(undefined);
    listeners.tell('decision:start', request);
    // The wait is over; a later answer is ignored.
    request.signal.addEventListener('abort', giveUp, { once: true });
    try {
      const decision = await onToolCall(request);
      end(decision);
      return decision;
    } finally {
      end(undefined);
      request.signal.removeEventListener('abort', giveUp);
    }
  };
}
