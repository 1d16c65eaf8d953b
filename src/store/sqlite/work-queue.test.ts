import { expect, test } from 'vitest';
import { recordUnavailable } from '../store.ts';
import { WorkQueue, type Waiting } from './work-queue.ts';
import type { Operation } from './worker-messages.ts';

const MIB = 1_048_576;
const nobody: Waiting = { resolve: () => {}, reject: () => {} };

function named(key: string): Operation {
  return { name: 'release', args: [key] };
}

/** The keys of everything that is sent, parcel by parcel. */
function sent(queue: WorkQueue): string[][] {
  const parcels: string[][] = [];
  while (!queue.isEmpty) {
    const { text, work } = queue.next();
    parcels.push([...(text === '' ? [] : text.split('\n')), ...work.map(({ args }) => String(args[0]))]);
  }
  return parcels;
}

test('A8 rows are written between bodies, however many bodies wait', () => {
  const queue = new WorkQueue();
  for (let n = 0; n < 3; n++) queue.addBody(named(`body ${n}`), nobody, { share: 'evil', bytes: MIB });
  queue.addRow('row 1', nobody);
  const first = queue.next();
  queue.addRow('row 2', nobody);
  expect(first.text).toBe('row 1');
  expect(sent(queue)).toEqual([['body 0'], ['row 2'], ['body 1'], ['body 2']]);
});

test('A8 tenants take turns with their bodies, each in its own order, and small bodies share a batch', () => {
  const queue = new WorkQueue();
  for (let n = 0; n < 3; n++) queue.addBody(named(`evil ${n}`), nobody, { share: 'evil', bytes: 55_000 });
  for (let n = 0; n < 2; n++) queue.addBody(named(`good ${n}`), nobody, { share: 'good', bytes: 6_000 });
  queue.addBody(named('late'), nobody, { share: 'late', bytes: 6_000 });
  expect(sent(queue)).toEqual([
    ['evil 0', 'good 0'],
    ['late', 'evil 1'],
    ['good 1', 'evil 2'],
  ]);
});

test('A8 many rows are written in batches that are soon finished', () => {
  const queue = new WorkQueue();
  for (let n = 0; n < 20_000; n++) queue.addRow(`${n}`, nobody);
  expect(queue.hasRoomForRow).toBe(false);
  const parcels = sent(queue);
  expect(Math.max(...parcels.map(({ length }) => length))).toBeLessThan(2_100);
  expect(parcels.flat()).toEqual(Array.from({ length: 20_000 }, (_, n) => `${n}`));
  expect(queue.hasRoomForRow).toBe(true);
});

test('A8 the waiting bytes of one tenant are limited, and leave room for others', () => {
  const queue = new WorkQueue();
  const add = (share: string, bytes: number): boolean => {
    const has = queue.hasRoomFor({ share, bytes });
    if (has) queue.addBody(named(share), nobody, { share, bytes });
    return has;
  };
  for (let n = 0; n < 8; n++) expect(add('evil', 2 * MIB)).toBe(true);
  expect(add('evil', 1)).toBe(false);
  expect(add('good', 2 * MIB)).toBe(true);
  // However many tenants fill it, each has room for one.
  for (let tenant = 0; tenant < 20; tenant++) for (let n = 0; n < 8; n++) add(`evil ${tenant}`, 2 * MIB);
  expect(add('good', 2 * MIB)).toBe(false);
  expect(add('another', 2 * MIB)).toBe(true);
});

test('all waiting requests can be refused at once, and rows are counted', () => {
  const queue = new WorkQueue();
  const refused: string[] = [];
  const waiting = (name: string): Waiting => ({ resolve: () => {}, reject: () => void refused.push(name) });
  queue.addRow('row', waiting('row'));
  queue.addOperation({ ...named('claim'), row: { chain: 'a', body: '{}' } }, waiting('claim'), 0);
  queue.addOperation(named('plain'), waiting('plain'), 0);
  queue.addBody(named('body'), waiting('body'), { share: 'a', bytes: MIB });
  expect(queue.refuse(recordUnavailable())).toBe(2);
  expect(refused.toSorted()).toEqual(['body', 'claim', 'plain', 'row']);
  expect(queue.isEmpty).toBe(true);
});
