import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { ToolRegistry } from '../core/registry.ts';
import { toResult } from '../core/result.ts';
import { validatorOf } from '../schema/validator.ts';
import { createFakeClock } from '../testing.ts';
import { getTimeTool } from './get-time.ts';

const noon = Date.UTC(2026, 0, 15, 12, 0, 0, 250);

function registryAt(time: number): ToolRegistry {
  return new ToolRegistry().registerTool(getTimeTool(createFakeClock(time)));
}

test('without a time zone the time is in UTC (001-19)', async () => {
  expect(await registryAt(noon).execute('get_time')).toEqual({
    current_time: '2026-01-15T12:00:00+00:00',
    timezone: 'UTC',
    unix_timestamp: 1_768_478_400,
  });
});

test.each([
  ['America/New_York', '2026-01-15T07:00:00-05:00'],
  ['Asia/Kolkata', '2026-01-15T17:30:00+05:30'],
  ['Asia/Kathmandu', '2026-01-15T17:45:00+05:45'],
  ['Pacific/Kiritimati', '2026-01-16T02:00:00+14:00'],
  ['Pacific/Marquesas', '2026-01-15T02:30:00-09:30'],
  ['Europe/London', '2026-01-15T12:00:00+00:00'],
])('the time in %s is %s (001-19)', async (timezone, expected) => {
  const answer = await registryAt(noon).execute('get_time', { timezone });
  expect(answer).toEqual({ current_time: expected, timezone, unix_timestamp: 1_768_478_400 });
});

test('in summer the offset is that of daylight saving time (001-19)', async () => {
  const answer = await registryAt(Date.UTC(2026, 6, 1)).execute('get_time', { timezone: 'Europe/Berlin' });
  expect(answer).toMatchObject({ current_time: '2026-07-01T02:00:00+02:00' });
});

test.each(['Mars/Olympus', '', ' UTC', 'UTC\0', '../etc/passwd', '🕛'])(
  '%j is not a time zone, and the call fails (001-19)',
  async (timezone) => {
    const answer = await registryAt(noon).execute('get_time', { timezone });
    expect(answer).toEqual({ error: 'Invalid timezone', timezone });
    expect(toResult(answer)).toMatchObject({ kind: 'failed' });
  },
);

test('the tool is marked as read-only, not destructive and idempotent (001-19)', () => {
  const [tool] = registryAt(noon).getToolsList().tools;
  expect(tool).toMatchObject({
    name: 'get_time',
    inputSchema: {
      properties: { timezone: { type: 'string', default: 'UTC' } },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  });
});

test('the time is correct in every time zone (001-19)', () => {
  const tool = getTimeTool();
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));
  // Zones have had offsets of whole minutes since 1972.
  const moments = fc.integer({ min: Date.UTC(1973, 0), max: Date.UTC(2100, 0) });
  fc.assert(
    fc.property(zones, moments, (timezone, at) => {
      const told = getTimeTool(createFakeClock(at)).handler({ timezone }, {} as never) as {
        current_time: string;
        unix_timestamp: number;
      };
      expect(Date.parse(told.current_time)).toBe(Math.floor(at / 1000) * 1000);
      expect(told.unix_timestamp).toBe(Math.floor(at / 1000));
      expect(validatorOf(tool.outputSchema!)(told)).toHaveProperty('value');
    }),
    { numRuns: propertyRuns() },
  );
});
