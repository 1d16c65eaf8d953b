import { expect, test } from 'vitest';
import { Exchange } from './pending-request.ts';
import { Pending } from './pending-requests.ts';

function begin(pending: Pending): Exchange {
  const outgoing = { id: pending.nextId(), method: 'ping', body: '', subject: undefined, headers: [] };
  const keeper = { forget() {}, cancel() {}, extend() {} };
  const exchange = new Exchange(outgoing, keeper, { resolve() {}, reject() {} });
  pending.add(exchange);
  return exchange;
}

test('requests are found by their ids, however many are under way and however long one takes', () => {
  const pending = new Pending();
  const slow = begin(pending);
  for (let round = 0; round < 1_000; round++) pending.delete(begin(pending));
  const many = Array.from({ length: 1_000 }, () => begin(pending));
  expect(pending.size).toBe(1_001);
  expect(new Set(pending.all())).toEqual(new Set([slow, ...many]));
  for (const exchange of [slow, ...many]) expect(pending.get(exchange.outgoing.id)).toBe(exchange);
  for (const exchange of many) pending.delete(exchange);
  pending.delete(many[0]!);
  expect(pending.all()).toEqual([slow]);
});

test('an id that nobody waits for finds nothing', () => {
  const pending = new Pending();
  const { id } = begin(pending).outgoing;
  for (const other of [id + 128, id + 0.5, -id, Number.NaN, String(id), null, undefined, {}])
    expect(pending.get(other)).toBeUndefined();
});
