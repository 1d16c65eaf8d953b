import { expect, test } from 'vitest';
import { createLog } from './pino-log.ts';
import { Secrets } from './secrets.ts';
import { terminalLine } from './terminal-line.ts';

function shown(
  message: string,
  facts: Record<string, unknown> = {},
  level: 'info' | 'error' = 'info',
): string {
  let text = '';
  const destination = { write: (line: string) => void (text += terminalLine(line, level === 'error')) };
  createLog({ level: 'debug', secrets: new Secrets(), destination })(level, message, facts);
  return text;
}

test('an event is one line with the time, the level, the message and the facts', () => {
  expect(shown('Stopping.', { tool: 'ping', ms: 3, why: 'a "b" c' })).toMatch(
    /^\d\d:\d\d:\d\d INFO {2}Stopping\. tool=ping ms=3 why="a \\"b\\" c"\n$/,
  );
});

test('an error has a coloured level, and its stack indented below', () => {
  const [first, ...stack] = shown('It failed.', { cause: new TypeError('no') }, 'error')
    .trimEnd()
    .split('\n');
  expect(first).toMatch(/^\d\d:\d\d:\d\d \p{Cc}\[31mERROR\p{Cc}\[0m It failed\.$/u);
  expect(stack[0]).toBe('    cause: TypeError: no');
  expect(stack.length).toBeGreaterThan(1);
  expect(stack.slice(1).every((line) => line.startsWith('        at '))).toBe(true);
});

test('no logged text can imitate an event or move the cursor', () => {
  const forged = 'x\n12:00:00 ERROR forged\u001B[2J\rover';
  const text = shown(forged, { fact: forged, other: 'a\u009B31m' });
  expect(text.split('\n').filter((line) => /^\d\d:/.test(line))).toHaveLength(1);
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});
