import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { createFakeClock } from '../../testing.ts';
import { upstreamFailure } from './upstream-failure.ts';
import { toResult } from '../result.ts';

const clock = createFakeClock(Date.UTC(2026, 0, 15, 12));

function answer(status: number, retryAfter?: string): Pick<Response, 'status' | 'headers'> {
  return { status, headers: new Headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) };
}

test.each([
  ['30', 30, 'Try again after 30 seconds.'],
  ['1', 1, 'Try again after 1 second.'],
  ['Thu, 15 Jan 2026 12:02:00 GMT', 120, 'Try again after 120 seconds.'],
  ['Thu, 15 Jan 2026 11:00:00 GMT', 0, 'Try again after 0 seconds.'],
])('a 429 with Retry-After %j says to retry after %i seconds (004-15)', (header, seconds, message) => {
  expect(upstreamFailure(answer(429, header), clock)).toEqual({
    error: 'API rate limit exceeded',
    code: 429,
    message,
    retry_after_seconds: seconds,
  });
});

test.each([undefined, '', 'soon', '-5', '1.5', '99999999999', '2026-01-15', 'Thu, 99 Jan 2026 12:00:00 GMT'])(
  'a 429 with the header %j says to try again later (004-15)',
  (header) => {
    expect(upstreamFailure(answer(429, header), clock)).toEqual({
      error: 'API rate limit exceeded',
      code: 429,
      message: 'Try again later.',
    });
  },
);

test.each([500, 502, 503, 504])(
  'status %i is reported as a failure of the API, with the time to wait (004-15)',
  (status) => {
    expect(upstreamFailure(answer(status, '5'), clock)).toEqual({
      error: 'API is not available now',
      code: status,
      message: 'Try again after 5 seconds.',
      retry_after_seconds: 5,
    });
  },
);

test.each([200, 204, 304, 400, 401, 404, 499, 600])('a %i is not reported as such a failure', (status) => {
  expect(upstreamFailure(answer(status, '5'), clock)).toBeUndefined();
});

test('a handler that returns such a failure has failed, and the text names the limit (004-15)', () => {
  const result = toResult(
    upstreamFailure(new Response(null, { status: 429, headers: { 'retry-after': '7' } })),
  );
  expect(result).toMatchObject({ kind: 'failed', data: { error: 'API rate limit exceeded' } });
});

test('for any header, the time to wait is absent or a whole number from 0', () => {
  fc.assert(
    fc.property(fc.string(), (header) => {
      const failure = upstreamFailure({ status: 429, headers: { get: () => header } }, clock);
      const seconds = failure?.retry_after_seconds ?? 0;
      expect(Number.isInteger(seconds) && seconds >= 0).toBe(true);
      expect(failure?.message).toMatch(/^Try again (later|after \d+ seconds?)\.$/);
    }),
    { numRuns: propertyRuns() },
  );
});
