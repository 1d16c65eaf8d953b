import { expect, test } from 'vitest';
import { GatheredBytes } from './gathered-bytes.ts';

test('bytes come back as they came, whatever their pieces were', () => {
  for (const size of [1, 7, 1_000, 30_000]) {
    const bytes = Buffer.from(Array.from({ length: 30_000 }, (_, index) => index % 251));
    const gathered = new GatheredBytes();
    for (let at = 0; at < bytes.length; at += size) gathered.add(bytes.subarray(at, at + size));
    expect(gathered.length).toBe(bytes.length);
    expect(gathered.take().equals(bytes)).toBe(true);
    expect(gathered.length).toBe(0);
    expect(gathered.take()).toHaveLength(0);
  }
});

test('what was dropped does not come back', () => {
  const gathered = new GatheredBytes();
  for (let count = 0; count < 3_000; count++) gathered.add(Buffer.from('a'));
  gathered.drop();
  gathered.add(Buffer.from('b'));
  expect(gathered.take().toString()).toBe('b');
});
