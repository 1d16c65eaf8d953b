import { expect, test } from 'vitest';
import { PendingRequest } from './pending-request.ts';
import { PendingRequests } from './pending-requests.ts';

function begin(table: PendingRequests): PendingRequest {
  const outgoing = { id: table.nextId(), method: 'ping', body: '', mcpName: undefined, headers: [] };
  const keeper = { forget() {}, cancel() {}, extend() {} };
  const request = new PendingRequest(outgoing, keeper, { resolve() {}, reject() {} });
  table.add(request);
  return request;
}

test('a pending request is found by its id, with any number of others', () => {
  const pending = new PendingRequests();
  const slow = begin(pending);
  for (let round = 0; round < 1_000; round++) pending.delete(begin(pending));
  const many = Array.from({ length: 1_000 }, () => begin(pending));
  expect(pending.size).toBe(1_001);
  expect(new Set(pending.all())).toEqual(new Set([slow, ...many]));
  for (const request of [slow, ...many]) expect(pending.get(request.outgoing.id)).toBe(request);
  for (const request of many) pending.delete(request);
  pending.delete(many[0]!);
  expect(pending.all()).toEqual([slow]);
});

test('an unknown id finds no pending request', () => {
  const pending = new PendingRequests();
  const { id } = begin(pending).outgoing;
  for (const other of [id + 128, id + 0.5, -id, Number.NaN, String(id), null, undefined, {}])
    expect(pending.get(other)).toBeUndefined();
});
