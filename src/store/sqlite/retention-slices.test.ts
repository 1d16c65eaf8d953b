import { expect, test } from 'vitest';
import { createRecord } from '../../../test/journal-record.ts';
import { checkpointKeys } from '../journal/checkpoint.ts';
import { retain } from './journal-upkeep.ts';

test('A8 a long record is cut in slices, at checkpoints, and is valid after each', async () => {
  const record = await createRecord({ groups: 0 });
  const { db, signingKey, verify } = record;
  const writer = record.writer();
  const body = JSON.stringify({ kind: 'call', text: 'x'.repeat(1_000_000) });
  for (let n = 1; n <= 24; n++) {
    const rows = [{ chain: 'acme', body }];
    db.atOnce(() => writer.write(rows));
    writer.kept(rows);
    if (n % 2 === 0) writer.checkpoint();
  }
  record.age(11);
  const key = checkpointKeys(signingKey).checking;
  const cuts: unknown[] = [];
  const isMore: boolean[] = [];
  do {
    isMore.push(retain(db, writer, { days: 30, key }));
    const { problem, cut } = verify();
    expect(problem).toBeUndefined();
    cuts.push(cut?.checkpoint);
  } while (isMore.at(-1));
  // Eight megabytes and no more, of checkpoints of two each.
  expect(cuts).toEqual([4, 8, 11]);
  expect(retain(db, writer, { days: 30, key })).toBe(false);
});
