import { expect, test } from 'vitest';
import { createStoreFolder } from '../../../test/store-folder.ts';
import { readJournal } from '../journal/reader.ts';

const HOUR_MS = 3_600_000;

test('an operation with a value that cannot be stored fails alone, and all others of its batch are stored', async () => {
  const folder = createStoreFolder();
  const { journal, memory, quotas, reservations } = await folder.open();
  const window = { startsAt: 0, endsAt: HOUR_MS };
  const until = Date.now() + HOUR_MS;
  const reserved = (key: string, subject: unknown) =>
    ({ owner: 'ada', key, subject, expiresAt: until }) as never;
  // All in one turn, so that they are sent together.
  const results = await Promise.allSettled([
    journal.append({ chain: 'acme', body: '{"row":1}' }),
    quotas.take((() => {}) as never, window),
    quotas.take('acme', window),
    journal.commit({ chain: 'acme', body: '{"row":2}' }, reserved('bad', Symbol('pay'))),
    journal.commit({ chain: 'acme', body: '{"row":3}' }, reserved('good', 'pay 5')),
    memory.spent.spend('state', until, 'ada'),
    journal.append({ chain: 'acme', body: '{"row":4}' }),
  ]);
  const stored = (value?: unknown) => ({ status: 'fulfilled', ...(value !== undefined && { value }) });
  const refused = (name: string) => ({
    status: 'rejected',
    reason: { message: `${name} got an argument that cannot be stored.` },
  });
  expect(results).toMatchObject([
    stored(),
    refused('takeQuota'),
    stored(1),
    refused('claim'),
    stored('committed'),
    stored(true),
    stored(),
  ]);
  expect(await quotas.take('acme', window)).toBe(2);
  expect(await memory.spent.spend('state', until, 'ada')).toBe(false);
  expect(await reservations.find('ada', 'bad')).toBeUndefined();
  expect(await reservations.find('ada', 'good')).toMatchObject({ subject: 'pay 5' });
  expect(folder.verify().problem).toBeUndefined();
  const bodies = folder.inside((db) =>
    Array.from(readJournal(db, { chain: 'acme', limit: 10, order: 'oldest' }), ({ body }) => body),
  );
  // A row is written with its operation or not at all.
  expect(bodies.map((body) => JSON.parse(body) as unknown)).toMatchObject([
    { row: 1 },
    { row: 4 },
    { row: 3 },
  ]);
});
