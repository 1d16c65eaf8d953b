import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import type { LogLevel } from './log.ts';
import { createLog } from './pino-log.ts';
import { Secrets } from './secrets.ts';

const payloads = [
  'a\r\n{"level":"error","message":"forged"}',
  'a\n2026-01-01 ERROR forged',
  '\u001b[2J\u001b[31mred\u001b]0;title\u0007',
  '\u009b31m\u0090x\u009c',
  'a\u2028b\u2029c',
  Array.from('hidden', (letter) => String.fromCodePoint(0xe_0000 + letter.charCodeAt(0))).join(''),
  'a\u202eb\u2066c',
  '\ud83d half \udc4d',
  '\0\u0001\u007f\u0085',
  '"}\\",{',
  '${jndi:ldap://x}',
  '%s %d %j %o',
  '__proto__',
  'x'.repeat(100_000),
  '\u0007'.repeat(50_000),
];

test.each(payloads)('E2 an entry with any content is one parsable line: %j', (payload) => {
  const { log, lines } = openLog();
  log('warn', payload, { tool: payload, client: payload, [payload]: 1, cause: new Error(payload) });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^[^\n\r]*\n$/);
  expect(lines[0]).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{DI}\u2028\u2029]/u);
  expect(Buffer.byteLength(lines[0]!)).toBeLessThanOrEqual(16_384);
  const entry = JSON.parse(lines[0]!) as Record<string, unknown>;
  expect(entry).toMatchObject({ level: 'warn', time: expect.stringMatching(/^\d{4}-.*Z$/) });
  // What a viewer prints after decoding is harmless as well.
  for (const shown of [...Object.keys(entry), ...Object.values(entry)])
    expect(String(shown)).not.toMatch(/[^\P{Cc}\t\n]|[\p{Cf}\p{DI}]/u);
});

test('E2 any entry is one parsable line of at most 16 kB', () => {
  const { log, lines } = openLog();
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...payloads));
  fc.assert(
    fc.property(text, fc.dictionary(text, fc.oneof(text, fc.jsonValue())), (message, facts) => {
      lines.length = 0;
      log('info', message, facts);
      expect(lines).toHaveLength(1);
      expect(Buffer.byteLength(lines[0]!)).toBeLessThanOrEqual(16_384);
      expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'info' });
      expect(lines[0]!.indexOf('\n')).toBe(lines[0]!.length - 1);
    }),
    { numRuns: propertyRuns() },
  );
});

test('E2 hidden characters are shown as escapes, so that an attack is visible', () => {
  const { log, lines } = openLog();
  log('info', 'a\u202eb\u{e0041}\u001b[31m\r');
  expect(JSON.parse(lines[0]!)).toMatchObject({ message: 'a\\u202eb\\u{e0041}\\u001b[31m\\u000d' });
});

test('E2 a fact cannot replace the level, the time or the message', () => {
  const { log, lines } = openLog();
  log('error', 'real', { level: 'info', time: 'never', message: 'forged', 'le\u200bvel': 1 });
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 'error',
    message: 'real',
    level_: 'info',
    message_: 'forged',
  });
});

test('E4 no secret reaches the log in messages, facts, keys or causes', () => {
  const secrets = new Secrets();
  secrets.add('correct-horse-battery');
  secrets.add('123456789012');
  const { log, lines } = openLog('info', secrets);
  const secret = 'correct-horse-battery';
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const cause = new Error(`outer ${token}`, { cause: new Error(`inner ${secret}`) });
  log('error', `m ${secret}`, {
    a: token,
    [secret]: 1,
    cause,
    broken: `correct\u200b-horse-battery`,
    o: { secret },
    pin: 123456789012,
    behind: `\u001b${secret} and gh\u200bp_${'a1B2'.repeat(9)}`,
  });
  expect(lines[0]).not.toMatch(/orse|ghp_|a1B2|123456789012/);
  expect(lines[0]).toContain('[redacted:secret]');
  expect(lines[0]).toContain('[redacted:github]');

  const { log: open, lines: shown } = openLog();
  open('error', `m ${secret}`);
  expect(shown[0]).toContain(secret);
});

test('causes are logged, and facts that cannot be shown are replaced by a note', () => {
  const { log, lines } = openLog();
  log('error', 'failed', {
    cause: new Error('outer', { cause: new Error('inner') }),
    count: 5,
    none: undefined,
  });
  expect(JSON.parse(lines[0]!)).toMatchObject({ count: 5, cause: expect.stringMatching(/outer[^]*inner/) });
  const hostile = {
    [Symbol.for('nodejs.util.inspect.custom')]: () => {
      throw new Error('no');
    },
  };
  log('error', 'failed', { hostile });
  expect(JSON.parse(lines[1]!)).toMatchObject({ message: 'failed', facts: '[cannot be shown]' });
});

test('E2 a long entry keeps the beginning of every fact', () => {
  const { log, lines } = openLog();
  log('info', 'm'.repeat(20_000), { a: 'a'.repeat(20_000), b: 'short' });
  expect(JSON.parse(lines[0]!)).toMatchObject({
    message: expect.stringMatching(/^m{500,}… \(20000 characters\)$/),
    a: expect.stringMatching(/^a{500,}… \(20000 characters\)$/),
    b: 'short',
  });
});

test('entries below the configured level are not written', () => {
  const { log, lines } = openLog('warn');
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log(level, level);
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['warn', 'error']);
});

function openLog(
  level: LogLevel = 'debug',
  secrets = new Secrets(),
): { log: ReturnType<typeof createLog>; lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    log: createLog({ level, secrets, destination: { write: (line) => void lines.push(line) } }),
  };
}
