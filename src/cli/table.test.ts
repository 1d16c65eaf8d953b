import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { toCsv } from './table.ts';

test('rows are lines of CSV cells, quoted where necessary', () => {
  expect(toCsv(['a', 'b'], [['1', 'x,"y"']])).toBe('a,b\r\n1,"x,""y"""\r\n');
  expect(toCsv([], [['1', '']])).toBe('1,\r\n');
});

test.each(['=1+1', '+1', '-1', '@sum(a)', '\t=1', '\r=1', ' =1', '＝1', '＠x'])(
  'E2 %j does not become a formula',
  (text) => {
    expect(toCsv([], [[text]])).toMatch(/^"?'/);
  },
);

test('E2 no text makes a cell that begins like a formula, or adds a cell or a line', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom('=', '+', '-', '@', '"', ',', ';', "'", '\r', '\n', '\t', ' ', 'a', '＝'),
      }),
      (text) => {
        const line = toCsv([], [['first', text, 'last']]);
        const cells = /^first,("(?:[^"]|"")*"|[^",;\r\n\t]*),last\r\n$/.exec(line);
        expect(cells).not.toBeNull();
        const shown = cells![1]!.replace(/^"([^]*)"$/, '$1').replaceAll('""', '"');
        expect(shown).not.toMatch(/^\s*[=+\-@＝]/);
        expect(shown.replace(/^'/, '')).toBe(text.replace(/^'/, ''));
      },
    ),
    { numRuns: propertyRuns() },
  );
});
