import * as fc from 'fast-check';
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { propertyRuns } from '../../test/property-runs.ts';
import { clampedInt } from './clamped-int.ts';
import { ToolRegistry } from '../core/registry.ts';
import { defineTool } from '../core/tool.ts';
import { validatorOf } from '../schema/validator.ts';

const limit = clampedInt({ min: 1, max: 100, default: 10 });
const tool = defineTool(
  { name: 'find', description: 'Finds.', input: z.object({ limit }) },
  ({ limit: given }) => given,
);
const registry = new ToolRegistry().registerTool(tool);

test.each([
  [{}, 10],
  [{ limit: 1 }, 1],
  [{ limit: 100 }, 100],
  [{ limit: 0 }, 1],
  [{ limit: -7 }, 1],
  [{ limit: 101 }, 100],
  [{ limit: 1e300 }, 100],
])('a limit of %j becomes %i and is not refused (000-29)', async (args, expected) => {
  expect(await registry.execute('find', args)).toBe(expected);
});

test('every whole number is moved into the range, and one in the range is kept (000-29)', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.integer(), (one, other, value) => {
      const [min = 0, max = 0] = [one, other].toSorted((a, b) => a - b);
      const parsed = clampedInt({ min, max, default: min }).parse(value);
      expect(parsed >= min && parsed <= max).toBe(true);
      if (value >= min && value <= max) expect(parsed).toBe(value);
    }),
    { numRuns: propertyRuns() },
  );
});

test('C7 a value that is not a whole number is refused, as any value out of range is without the helper', async () => {
  for (const wrong of [1.5, '5', null, true])
    await expect(registry.execute('find', { limit: wrong })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
  const strict = defineTool(
    { name: 'strict', description: 'Finds.', input: z.object({ limit: z.int().min(1).max(100) }) },
    ({ limit: given }) => given,
  );
  const refusing = new ToolRegistry().registerTool(strict);
  await expect(refusing.execute('strict', { limit: 101 })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
});

test('clients see an integer with a default and the range in words, so that they refuse no number (000-29)', () => {
  expect(tool.inputSchema).toEqual({
    type: 'object',
    properties: {
      limit: {
        type: 'integer',
        default: 10,
        description: 'From 1 to 100; a number beyond counts as the nearer end.',
      },
    },
  });
  expect(validatorOf(tool.inputSchema)({ limit: 5_000 })).toEqual({ value: { limit: 5_000 } });
});

test('the description comes before the range (000-29)', () => {
  const described = clampedInt({ min: 1, max: 5, default: 2, description: 'How many.' });
  expect(described.description).toBe('How many. From 1 to 5; a number beyond counts as the nearer end.');
  expectTypeOf<z.output<typeof described>>().toEqualTypeOf<number>();
});

test.each([
  { min: 5, max: 1, default: 2 },
  { min: 1, max: 5, default: 9 },
  { min: 0.5, max: 5, default: 2 },
])('an impossible range is an error at once: %j', (range) => {
  expect(() => clampedInt(range)).toThrow('clampedInt takes whole numbers');
});
