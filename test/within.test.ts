import { expect, test } from 'vitest';
import { InVain, within } from './within.ts';

test('a wait that times out is an error that names what it waited for', async () => {
  const never = new Promise<void>(() => {});
  await expect(within(5, 'an answer to {"id":1}', never)).rejects.toThrow(
    new InVain('Waited 5 ms in vain: an answer to {"id":1}.'),
  );
});

test('a wait that ends in time returns the value or the error', async () => {
  expect(await within(60_000, 'a number', Promise.resolve(7))).toBe(7);
  const failed = Promise.reject(new Error('refused'));
  await expect(within(60_000, 'a number', failed)).rejects.toThrow('refused');
});
