import { expect, test } from 'vitest';
import { shrink } from './shrink.ts';

const bytesOf = (text: string): number[] => [...Buffer.from(text)];

test('shrinking keeps only the parts of a text that make it fail', async () => {
  const text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","pme\\';
  const short = await shrink(bytesOf(text), async (bytes) =>
    /^\{.*"[^"]*\\$/.test(Buffer.from(bytes).toString()),
  );
  expect(Buffer.from(short).toString()).toBe('{"\\');
});

test('shrinking keeps two parts that fail only together', async () => {
  const short = await shrink(bytesOf('a long text with x in it and y at its end y'), async (bytes) => {
    const text = Buffer.from(bytes).toString();
    return text.includes('x') && text.includes('y');
  });
  expect(Buffer.from(short).toString()).toBe('xy');
});

test('a list that always fails shrinks to nothing, and one that cannot be shortened stays', async () => {
  expect(await shrink([1, 2, 3], async () => true)).toEqual([]);
  expect(await shrink([1, 2, 3], async ({ length }) => length === 3)).toEqual([1, 2, 3]);
});

test('shrinking stops after a number of attempts', async () => {
  let tries = 0;
  const short = await shrink(bytesOf('x'.repeat(1_000)), async () => ++tries > 1e9, 10);
  expect([short.length, tries]).toEqual([1_000, 10]);
});
