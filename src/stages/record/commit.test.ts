import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { callOf, fragileJournal, recordInMemory } from '../../../test/recorded-calls.ts';
import { ToolcribError } from '../../base/errors.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { withStages } from '../../core/stage.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { audit } from './audit.ts';
import { commit } from './commit.ts';
import { intentIn } from '../../store/journal/intent.ts';
import type { Journal } from '../../store/store.ts';

const digestKey = 'k'.repeat(43);

describe('a tool with effects is on record before it runs', () => {
  test('the intent is written first, and the outcome closes it (000-39, 004-20)', async () => {
    const { store, rows } = recordInMemory();
    const { source, pay, seen } = setUp(store.journal, () => rows().length);
    const call = callOf(pay, { arguments: { amount: 5 } });
    call.record.rule = 'access[1]';
    expect(await source.call(call)).toMatchObject({ kind: 'done' });
    expect(seen).toEqual([1]);
    const { id } = call.record;
    expect(store.entries.map(({ body }) => intentIn(body))).toEqual([
      { kind: 'intent', call: id },
      { kind: 'outcome', call: id },
    ]);
    expect(rows('acme')).toMatchObject([
      {
        kind: 'intent',
        call: id,
        tenant: 'acme',
        caller: 'ada',
        credential: 'key_1',
        tool: 'pay',
        definition: expect.any(String),
        arguments: expect.any(String),
        decision: 'allowed',
        rule: 'access[1]',
        policy: 'p1',
      },
      { kind: 'outcome', call: id, tool: 'pay', outcome: 'done', ms: expect.any(Number) },
    ]);
  });

  test('a read-only tool has one row, and its result needs no second write', async () => {
    const { store, rows } = recordInMemory();
    const { source, pay } = setUp(store.journal, () => 0, { readOnlyHint: true });
    await source.call(callOf(pay));
    expect(rows()).toMatchObject([{ kind: 'call', tool: 'pay' }]);
  });

  test.each([undefined, {}, { destructiveHint: false }, { idempotentHint: true }, { readOnlyHint: false }])(
    'a tool has effects unless it is marked as read-only: %j',
    async (annotations) => {
      const { store, rows } = recordInMemory();
      const { source, pay } = setUp(store.journal, () => 0, annotations);
      await source.call(callOf(pay));
      expect(rows().map(({ kind }) => kind)).toEqual(['intent', 'outcome']);
    },
  );

  test('a tool that fails has its outcome on record', async () => {
    const { store, rows } = recordInMemory();
    const { source, pay } = setUp(store.journal, () => {
      throw new ToolcribError('upstream_unavailable', 'It is not answering.');
    });
    await expect(async () => source.call(callOf(pay))).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
    expect(rows()).toMatchObject([{ kind: 'intent' }, { kind: 'outcome', outcome: 'upstream_unavailable' }]);
  });

  test('a call cancelled while its intent is written does not run, and the record says how it ended', async () => {
    const { store, rows } = recordInMemory();
    const { source, pay, seen } = setUp(store.journal, () => 1);
    const call = callOf(pay);
    const answer = Promise.resolve(source.call(call));
    call.cancellation.abort(new ToolcribError('cancelled', 'The caller left.'));
    await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
    expect(seen).toEqual([]);
    expect(rows()).toMatchObject([{ kind: 'intent' }, { kind: 'outcome', outcome: 'cancelled' }]);
  });

  test('A8 a call over the limit of keys does not run, and says so', async () => {
    const { store, clock } = recordInMemory();
    const { source, pay, seen } = setUp(store.journal, () => 1);
    const keyOf = (n: number) => ({
      owner: 'ada',
      key: `${n}`,
      subject: 'pay',
      expiresAt: clock.now() + 1_000,
    });
    for (let n = 0; n < 10_000; n++) await store.journal.commit({ chain: 'acme', body: '{}' }, keyOf(n));
    const call = callOf(pay);
    call.record.reservation = keyOf(10_000);
    await expect(Promise.resolve(source.call(call))).rejects.toMatchObject({ code: 'busy' });
    expect(seen).toEqual([]);
  });

  test('a call under a used key does not run and writes no intent', async () => {
    const { store, rows, clock } = recordInMemory();
    const { source, pay, seen } = setUp(store.journal, () => 1);
    const reservation = { owner: 'ada', key: 'k', subject: 'pay', expiresAt: clock.now() + 1_000 };
    for (const isFirst of [true, false]) {
      const call = callOf(pay);
      call.record.reservation = reservation;
      const answer = Promise.resolve(source.call(call));
      if (isFirst) await answer;
      else await expect(answer).rejects.toMatchObject({ code: 'outcome_unknown' });
    }
    expect(seen).toHaveLength(1);
    expect(rows().map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ['intent', undefined],
      ['outcome', 'done'],
      ['call', 'outcome_unknown'],
    ]);
  });
});

describe('E3 R3 without a record nothing with effects runs', () => {
  test('R3 if the intent cannot be written, the tool does not run', async () => {
    const journal = fragileJournal();
    const { source, pay, seen } = setUp(journal, () => 1);
    journal.failing = true;
    await expect(async () => source.call(callOf(pay))).rejects.toThrow('disk full');
    journal.failing = false;
    journal.isReady = false;
    await expect(async () => source.call(callOf(pay))).rejects.toMatchObject({ code: 'record_unavailable' });
    expect(seen).toEqual([]);
  });

  test('R3 control: without the stage it runs, although nothing can be recorded', async () => {
    const journal = fragileJournal();
    const { pay, seen, registry } = setUp(journal, () => 1);
    const open = withStages(registry, [audit({}, { journal, digestKey })]);
    journal.failing = true;
    await expect(async () => open.call(callOf(pay))).rejects.toThrow('disk full');
    expect(seen).toEqual([1]);
  });

  test('R3 the caller learns that the tool ran when its outcome cannot be written', async () => {
    const journal = fragileJournal();
    const { source, pay, seen } = setUp(journal, () => {
      journal.failing = true;
      return 1;
    });
    await expect(async () => source.call(callOf(pay))).rejects.toMatchObject({
      code: 'record_unavailable',
      message: expect.stringContaining('The call ran'),
    });
    expect(seen).toEqual([1]);
    expect(journal.entries).toMatchObject([{ body: expect.stringContaining('"kind":"intent"') }]);
  });
});

function setUp(journal: Journal, run: () => unknown, annotations?: Tool['annotations']) {
  const seen: unknown[] = [];
  const pay = defineTool(
    { name: 'pay', description: 'Pays.', input: z.looseObject({}), ...(annotations && { annotations }) },
    () => {
      const value = run();
      seen.push(value);
      return 'paid';
    },
  );
  const registry = new ToolRegistry().registerTool(pay);
  const parts = { journal, digestKey, policyVersion: 'p1' };
  return { pay, seen, registry, source: withStages(registry, [audit({}, parts), commit(parts)]) };
}
