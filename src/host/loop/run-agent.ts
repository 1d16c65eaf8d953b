import { Conversation } from './conversation.ts';
import type { AgentRun, RunEvent } from './run-events.ts';
import type { RunnableAgent, RunOptions } from './run-options.ts';

/**
 * Has an agent answer: the model is asked, its calls are made, and so on, until it answers in words or a limit is
 * reached. Errors of the model or its endpoint are thrown.
 */
export function runAgent(agent: RunnableAgent, options: RunOptions): Promise<AgentRun> {
  const { prompt, signal, ...conversation } = options;
  return new Conversation(agent, conversation).say(prompt, signal ? { signal } : {});
}

/** The same, as events one after the other; leaving the loop cancels the run. */
export async function* streamAgent(
  agent: RunnableAgent,
  options: RunOptions,
): AsyncGenerator<RunEvent, AgentRun, undefined> {
  const leaving = new AbortController();
  const queue: RunEvent[] = [];
  let wake = (): void => {};
  const { signal, onEvent } = options;
  const stop = (): void => leaving.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  let isOver = false;
  const running = runAgent(agent, {
    ...options,
    signal: leaving.signal,
    onEvent: (event) => {
      onEvent?.(event);
      queue.push(event);
      wake();
    },
  }).finally(() => {
    isOver = true;
    wake();
  });
  // Avoids an unhandled rejection until `running` is awaited.
  running.catch(() => {});
  try {
    for (;;) {
      const event = queue.shift();
      if (event) yield event;
      else if (isOver) return await running;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    leaving.abort();
    await running.catch(() => {});
  }
}
