import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ToolRegistry } from '../../index.ts';
import { calculateTool } from '../../tools.ts';

const registry = new ToolRegistry().registerTool(calculateTool());
const calculate = (expression: string, digits?: number): Promise<unknown> =>
  registry.execute('calculate', { expression, ...(digits !== undefined && { digits }) });

test.each([
  ['0.1 + 0.2', '0.3'],
  ['1 / 3 * 3', '1'],
  ['19.99 * 3 * 1.19', '71.3643'],
  ['round(19.99 * 3 * 1.19, 2)', '71.36'],
  ['-2 ^ 2', '-4'],
  ['2 ^ 3 ^ 2', '512'],
  ['2 ^ -2', '0.25'],
  ['(-1) ^ 99999999999', '-1'],
  ['(1 + 2) * (3 - 4) / -5', '0.6'],
  ['7 % 3 + -7 % 3', '0'],
  ['5.5 % 2', '1.5'],
  ['1e3 + 2.5E-3', '1000.0025'],
  ['.5 + 5.', '5.5'],
  ['sqrt(144) + sqrt(0.25)', '12.5'],
  ['abs(-3) + floor(-1.5) + ceil(1.2)', '3'],
  ['min(3, 1, 2) + max(3, 1, 2) + sum(1, 2, 3) + avg(1, 2)', '11.5'],
  ['round(2.5) + round(-2.5) + round(1234.5, -2)', '1200'],
  ['9007199254740993 * 9007199254740993', '81129638414606699710187514626049'],
  ['0 - 0', '0'],
])('%s equals exactly %s (003-01)', async (expression, result) => {
  expect(await calculate(expression)).toEqual({ result, exact: true });
});

test.each([
  ['1 / 3', 5, '0.33333'],
  ['2 / 3', 5, '0.66667'],
  ['1 / 3000', 3, '0.000333'],
  ['1000 / 3', 6, '333.333'],
  ['sqrt(2)', 30, '1.4142135623730950488016887242096980785696718753769'],
])('%s has infinitely many digits, and the result says so', async (expression, digits, result) => {
  expect(await calculate(expression, digits)).toMatchObject({
    result: expect.stringContaining(result.slice(0, digits)),
    exact: false,
  });
});

test.each([
  ['1 +', 'ends where a number is missing'],
  ['(1', '")" is missing at the end'],
  ['1 2', '"2" at character 3'],
  ['1,000', '"," at character 2'],
  ['$5', '"$" at character 1'],
  ['1 / 0', 'divided by zero'],
  ['0 ^ -1', 'divided by zero'],
  ['sqrt(-1)', 'no square root'],
  ['2 ^ 0.5', 'use sqrt'],
  ['1e401', 'exponent can be 400'],
  ['sin(1)', 'the functions are abs'],
  ['process.exit(1)', '"." at character 8'],
  ['constructor', '"constructor" at character 1'],
  ['__proto__', 'cannot be read'],
  ['abs(1, 2)', 'take one number'],
  ['abs 1', 'Write abs(...)'],
  ['round(1, 0.5)', 'round takes'],
  ['(((((((((((((((((((((((((((((((((((((((((((((((((((((1', 'nested too deeply'],
  [`${'-'.repeat(60)}1`, 'nested too deeply'],
])('a syntax error is reported with its place: %s', async (expression, told) => {
  const answer = await calculate(expression);
  expect(answer).toMatchObject({ error: 'Invalid expression', message: expect.stringContaining(told) });
});

test.each([
  '9^9^9^9',
  '10^100000000000000000000',
  '(10^500)^500',
  '2^100000',
  '1/9^9999',
  `${'9'.repeat(480)}^9`,
  '1e400 * 1e400',
])('D3 an expression that would grow without limit ends at once: %s', async (expression) => {
  expect(await calculate(expression)).toMatchObject({ error: 'Number too large' });
});

test('D3 the heaviest allowed expressions do not block other calls', async () => {
  const heavy = ['(2/3)^600', '(7/11)^400'].map((one) =>
    Array(40)
      .fill(one)
      .join('+')
      .slice(0, 490)
      .replace(/\+[^+]*$/, ''),
  );
  for (const expression of heavy) expect(await calculate(expression)).toHaveProperty('exact');
});

test('any text gives a number or an error message', async () => {
  const pieces = fc.constantFrom(
    '1',
    '2.5',
    '+',
    '-',
    '*',
    '/',
    '%',
    '^',
    '(',
    ')',
    ',',
    'sqrt',
    'min',
    ' ',
    'e',
    '.',
    '"',
    'round',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 30 }), async (parts) => {
      const answer = (await calculate(parts.join(''))) as Record<string, unknown>;
      if ('error' in answer) expect(answer['message']).toEqual(expect.any(String));
      else expect(answer['result']).toMatch(/^-?\d+(\.\d+)?$/);
    }),
    { numRuns: propertyRuns() },
  );
});
