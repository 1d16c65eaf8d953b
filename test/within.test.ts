import { expect, test } from 'vitest';
import { InVain, within } from './within.ts';

test('what never comes is a failure that says what it was', async () => {
  const never = new Promise<void>(() => {});
  await expect(within(5, 'an answer to {"id":1}', never)).rejects.toThrow(
    new InVain('Waited 5 ms in vain: an answer to {"id":1}.'),
  );
});

test('what comes in time is handed on, and so is why it failed', async () => {
  expect(await within(60_000, 'a number', Promise.resolve(7))).toBe(7);
  const failed = Promise.reject(new Error('refused'));
  await expect(within(60_000, 'a number', failed)).rejects.toThrow('refused');
});
