import { expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import type { Reservation } from '../../core/memory/memory.ts';
import { createInMemory } from '../../core/memory/in-memory.ts';
import { createInMemoryStore, type InMemoryStore } from './store.ts';
import { createFakeClock } from '../../testing.ts';
import { describeStore } from '../../../test/store-contract.ts';

const HOUR_MS = 3_600_000;

describeStore(
  'the in-memory store',
  async () => createInMemoryStore({ clock: systemClock, memory: createInMemory(systemClock) }),
  ({ entries }, chain) => entries.filter((entry) => entry.chain === chain).map(({ body }) => body),
);

test('R6 a key is stored for as long as its call asked, and no longer', async () => {
  const { store, clock } = openStore();
  const reservation = keyOf('k', clock.now() + 24 * HOUR_MS);
  await store.journal.commit({ chain: 'acme', body: '' }, reservation);
  clock.advance(24 * HOUR_MS - 1);
  expect(await store.journal.commit({ chain: 'acme', body: '' }, reservation)).toBe('taken');
  clock.advance(1);
  expect(store.reservations.find('ada', 'k')).toBeUndefined();
});

test('a caller cannot fill the store with keys, and no valid key is removed to make room', async () => {
  const { store, clock } = openStore();
  const expiresAt = clock.now() + 24 * HOUR_MS;
  for (let n = 0; n < 10_000; n++)
    await store.journal.commit({ chain: 'acme', body: '' }, keyOf(`k${n}`, expiresAt));
  const commit = (reservation: Reservation): Promise<string> =>
    store.journal.commit({ chain: 'acme', body: '' }, reservation);
  expect(await commit(keyOf('more', expiresAt))).toBe('full');
  expect(await commit({ ...keyOf('more', expiresAt), owner: 'bob' })).toBe('committed');
  expect(await commit(keyOf('k0', expiresAt))).toBe('taken');
  clock.advance(24 * HOUR_MS);
  expect(await commit(keyOf('more', clock.now() + HOUR_MS))).toBe('committed');
});

test('the journal keeps the newest rows', async () => {
  const { store } = openStore();
  for (let n = 0; n <= 100_000; n++) await store.journal.append({ chain: 'acme', body: `${n}` });
  expect(store.entries.length).toBeLessThanOrEqual(100_000);
  expect(store.entries.at(-1)).toEqual({ chain: 'acme', body: '100000' });
});

test('a closed store accepts no rows', async () => {
  const { store, clock } = openStore();
  await store.close();
  expect(store.journal.isReady).toBe(false);
  await expect(store.journal.append({ chain: 'acme', body: '' })).rejects.toMatchObject({
    code: 'record_unavailable',
  });
  const commit = store.journal.commit({ chain: 'acme', body: '' }, keyOf('k', clock.now() + HOUR_MS));
  await expect(commit).rejects.toMatchObject({ code: 'record_unavailable' });
  expect(store.reservations.find('ada', 'k')).toBeUndefined();
});

function openStore(): { store: InMemoryStore; clock: ReturnType<typeof createFakeClock> } {
  const clock = createFakeClock();
  return { store: createInMemoryStore({ clock, memory: createInMemory(clock) }), clock };
}

function keyOf(key: string, expiresAt: number): Reservation {
  return { owner: 'ada', key, subject: 'pay', expiresAt };
}
