import { AbstractTool } from '../core/authoring/abstract-tool.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { hasContext } from '../core/caller.ts';
import type { ToolContext } from '../core/context.ts';

/** Answers `pong`: proves that a client reaches this server and gets responses. */
export class PingTool extends AbstractTool<{ message: string }> {
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    super(
      'ping',
      'Checks that this server answers. Returns pong, the time and the message. Use it to test the connection.',
      {
        properties: {
          message: { type: 'string', description: 'Text to echo.', default: 'Hello!', maxLength: 1_000 },
        },
      },
      { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    );
    this.#clock = clock;
  }

  execute({ message }: { message: string }, { tenant }: ToolContext): unknown {
    return {
      status: 'pong',
      timestamp: new Date(this.#clock.now()).toISOString(),
      message,
      context_available: hasContext(tenant),
    };
  }
}

/** The `ping` tool. */
export function pingTool(clock?: Clock): PingTool {
  return new PingTool(clock);
}
