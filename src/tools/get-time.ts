import { systemClock, type Clock } from '../base/clock.ts';
import { toolError } from '../core/authoring/tool-error.ts';
import { defineTool, type Tool } from '../core/tool.ts';

/** The `get_time` tool: the time in any time zone. */
export function getTimeTool(clock: Pick<Clock, 'now'> = systemClock): Tool<{ timezone: string }> {
  return defineTool(
    {
      name: 'get_time',
      description:
        'Tells the current time in a time zone. Returns it in ISO 8601 with the offset of the zone, and as a Unix timestamp in seconds. Use it whenever an answer depends on the present date or time.',
      input: {
        type: 'object',
        properties: {
          timezone: {
            type: 'string',
            maxLength: 64,
            default: 'UTC',
            description: 'Name of the time zone, such as America/New_York.',
          },
        },
        additionalProperties: false,
      },
      output: {
        type: 'object',
        properties: {
          current_time: { type: 'string', description: 'The time, such as 2026-01-15T07:00:00-05:00.' },
          timezone: { type: 'string', description: 'The time zone that was asked for.' },
          unix_timestamp: { type: 'integer', description: 'Seconds since 1970.' },
        },
        required: ['current_time', 'timezone', 'unix_timestamp'],
      },
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    ({ timezone }) => {
      const now = clock.now();
      const offset = offsetOf(timezone, now);
      if (offset === undefined) return toolError('Invalid timezone', { timezone });
      return {
        current_time: toLocal(now, offset),
        timezone,
        unix_timestamp: Math.floor(now / 1000),
      };
    },
  );
}

// The UTC offset of a zone at a time, such as `+05:30`.
function offsetOf(timeZone: string, at: number): string | undefined {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value;
    return /[+-]\d\d:\d\d/.exec(name ?? '')?.[0] ?? '+00:00';
  } catch {
    // There is no such zone.
    return undefined;
  }
}

function toLocal(now: number, offset: string): string {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4));
  const ahead = (offset.startsWith('-') ? -minutes : minutes) * 60_000;
  return `${new Date(now + ahead).toISOString().slice(0, 19)}${offset}`;
}
