const LONGEST_MS = 86_400_000;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
// Each limit has one header with the rest of it, and one with the time when it is full again.
const LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

/** How long an endpoint asks to be left alone, by its headers; `undefined` where it does not say. */
export function askedWaitMs(header: (name: string) => string | undefined, now: number): number | undefined {
  const after = header('retry-after');
  const direct = counted(header('retry-after-ms'), 1) ?? counted(after, 1_000) ?? untilDate(after, now);
  return direct ?? waitOfLimits(header, now);
}

function waitOfLimits(header: (name: string) => string | undefined, now: number): number | undefined {
  const waits = LIMITS.flatMap((limit) => [
    header(`x-ratelimit-remaining-${limit}`) === '0' ? span(header(`x-ratelimit-reset-${limit}`)) : undefined,
    header(`anthropic-ratelimit-${limit}-remaining`) === '0'
      ? untilDate(header(`anthropic-ratelimit-${limit}-reset`), now)
      : undefined,
  ]).filter((wait) => wait !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

function counted(text: string | undefined, unitMs: number): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? bounded(Number(text) * unitMs) : undefined;
}

function untilDate(text: string | undefined, now: number): number | undefined {
  // The engine takes much for a date, such as a negative number.
  const time = text !== undefined && /^(?:[A-Z][a-z]{2},|\d{4}-)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : bounded(time - now);
}

// Such as 20ms, 1s or 6m0s.
function span(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const part = /(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)/y;
  let sum = 0;
  while (part.lastIndex < text.length) {
    const [, count, unit] = part.exec(text) ?? [];
    if (unit === undefined) return undefined;
    sum += Number(count) * UNITS[unit]!;
  }
  return bounded(sum);
}

function bounded(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), LONGEST_MS);
}
