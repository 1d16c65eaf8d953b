import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ApprovalDecision, ApprovalRequest } from '../src/core/memory/approval.ts';
import type { KeyRecord, TenantRecord } from '../src/core/memory/identities.ts';
import type { SessionRecord, TaskRecord } from '../src/core/memory/memory.ts';
import type { Reservation } from '../src/core/memory/memory.ts';
import type { Awaitable } from '../src/base/awaitable.ts';
import type { Store } from '../src/store/store.ts';
import { describePins } from './pin-contract.ts';

const HOUR_MS = 3_600_000;
const INTENT = '{"event":"intent"}';

/**
 * What every store promises, as tests; `bodiesOf` reads the rows of a chain back, for those that can.
 * `open` makes an empty store whose clock shows the machine's time.
 */
export function describeStore<S extends Store>(
  name: string,
  open: () => Promise<S>,
  bodiesOf?: (store: S, chain: string) => Awaitable<readonly string[]>,
): void {
  const opened = async (): Promise<S> => {
    const store = await open();
    onTestFinished(() => store.close());
    return store;
  };
  describe(name, () => {
    describeReservations(opened);
    describeApprovals(opened, bodiesOf);
    describeQuotas(opened);
    describeKeys(opened);
    describeTenants(opened);
    describePins(opened, bodiesOf);
    describeEvents(opened);
    describeOutcomeShares(opened);
    describeShares(opened);
    describeJournal(opened, bodiesOf);
  });
}

function describeReservations(open: () => Promise<Store>): void {
  test('R6 of 1,000 parallel commits under one key exactly one succeeds', async () => {
    const { journal, reservations } = await open();
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) =>
        journal.commit({ chain: 'acme', body: `{"intent":${n}}` }, reservationOf('ada', 'k')),
      ),
    );
    expect(answers.filter((answer) => answer === 'committed')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'taken')).toHaveLength(999);
    expect(await reservations.find('ada', 'k')).toEqual({ subject: 'pay 5', outcome: undefined });
  });

  test('a commit without a reservation uses no key', async () => {
    const { journal, reservations } = await open();
    expect(await journal.commit({ chain: 'acme', body: INTENT }, undefined)).toBe('committed');
    expect(await reservations.find('ada', 'k')).toBeUndefined();
  });

  test('the outcome of a reserved call is found under its key, unchanged', async () => {
    const { journal, reservations } = await open();
    await journal.commit({ chain: 'acme', body: INTENT }, reservationOf('ada', 'k'));
    const outcome = JSON.stringify({ text: 'Grüße\n\u{1f600}\u0000"\\', empty: '' });
    await reservations.finish('ada', 'k', outcome);
    expect(await reservations.find('ada', 'k')).toEqual({ subject: 'pay 5', outcome });
    expect(await journal.commit({ chain: 'acme', body: INTENT }, reservationOf('ada', 'k'))).toBe('taken');
  });

  test('a released key can be used again', async () => {
    const { journal, reservations } = await open();
    await journal.commit({ chain: 'acme', body: INTENT }, reservationOf('ada', 'k'));
    await reservations.release('ada', 'k');
    expect(await reservations.find('ada', 'k')).toBeUndefined();
    expect(await journal.commit({ chain: 'acme', body: INTENT }, reservationOf('ada', 'k'))).toBe(
      'committed',
    );
  });

  test('the key of a call that has ended cannot be released', async () => {
    const { journal, reservations } = await open();
    await journal.commit({ chain: 'acme', body: INTENT }, reservationOf('ada', 'k'));
    await reservations.finish('ada', 'k', '"paid"');
    await reservations.release('ada', 'k');
    expect(await reservations.find('ada', 'k')).toEqual({ subject: 'pay 5', outcome: '"paid"' });
  });

  test('A9/B9 equal keys of two owners are different keys', async () => {
    const { journal, reservations } = await open();
    const owners = ['4:acme/ada', '4:acme/bob', '5:other/ada', '4:acme/ad', '4:acme/ada/k'];
    for (const owner of owners)
      expect(await journal.commit({ chain: 'acme', body: INTENT }, reservationOf(owner, 'k'))).toBe(
        'committed',
      );
    await reservations.finish('4:acme/ada', 'k', '"mine"');
    for (const owner of owners.slice(1))
      expect(await reservations.find(owner, 'k')).toEqual({ subject: 'pay 5', outcome: undefined });
  });

  test('an expired key is not found and can be used again', async () => {
    const { journal, reservations } = await open();
    const old = { ...reservationOf('ada', 'k'), expiresAt: Date.now() - 1 };
    await journal.commit({ chain: 'acme', body: INTENT }, old);
    expect(await reservations.find('ada', 'k')).toBeUndefined();
    expect(await journal.commit({ chain: 'acme', body: INTENT }, reservationOf('ada', 'k'))).toBe(
      'committed',
    );
  });
}

const DECIDED = { chain: '@operator', body: '{"kind":"operator"}' };
const GONE = { isApproved: true, by: 'eve', at: 0, expiresAt: 0 };

function approvalOf(changes: Partial<ApprovalRequest> = {}): ApprovalRequest {
  const now = Date.now();
  return {
    owner: '4:acme/ada',
    subject: 'wipe sda',
    tenant: 'acme',
    caller: 'ada',
    tool: 'wipe',
    arguments: '{"disk":"s\u202eda"}',
    createdAt: now,
    expiresAt: now + HOUR_MS,
    ...changes,
  };
}

function decisionOf(isApproved: boolean, expiresAt = Date.now() + HOUR_MS): ApprovalDecision {
  return { isApproved, by: 'root', at: Date.now(), expiresAt };
}

function describeApprovals<S extends Store>(
  open: () => Promise<S>,
  bodiesOf?: (store: S, chain: string) => Awaitable<readonly string[]>,
): void {
  test('B12 an approval request is created once and found again unchanged, and another call has its own', async () => {
    const { approvals } = await open();
    const request = approvalOf();
    const asked = await approvals.ask(request);
    const id: unknown = expect.stringMatching(/^apr_[0-9a-f]{12}$/);
    expect(asked).toEqual({ approval: { ...request, id, decision: undefined }, isNew: true });
    expect(await approvals.ask(request)).toEqual({ ...asked, isNew: false });
    for (const other of [approvalOf({ subject: 'wipe sdb' }), approvalOf({ owner: '4:acme/bob' })])
      expect((await approvals.ask(other))!.approval.id).not.toBe(asked!.approval.id);
    expect(await approvals.list()).toHaveLength(3);
  });

  test('B12 of 1,000 parallel commits with one approval exactly one uses it', async () => {
    const { journal, approvals } = await open();
    const { id } = (await approvals.ask(approvalOf()))!.approval;
    await approvals.decide(id, decisionOf(true), DECIDED);
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, () => journal.commit({ chain: 'acme', body: INTENT }, undefined, id)),
    );
    expect(answers.filter((answer) => answer === 'committed')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'unapproved')).toHaveLength(999);
    expect(await approvals.use(id)).toBe(false);
  });

  test('B12 an approval that is open, denied, used or expired lets nothing run', async () => {
    const { journal, approvals } = await open();
    const commit = (id: string) => journal.commit({ chain: 'acme', body: INTENT }, undefined, id);
    const { id: waiting } = (await approvals.ask(approvalOf()))!.approval;
    const { id: denied } = (await approvals.ask(approvalOf({ subject: 'b' })))!.approval;
    const { id: late } = (await approvals.ask(approvalOf({ subject: 'c' })))!.approval;
    const { id: used } = (await approvals.ask(approvalOf({ subject: 'd' })))!.approval;
    await approvals.decide(denied, decisionOf(false), DECIDED);
    await approvals.decide(late, decisionOf(true, Date.now() - 1), DECIDED);
    await approvals.decide(used, decisionOf(true), DECIDED);
    expect(await approvals.use(used)).toBe(true);
    for (const id of [waiting, denied, late, used, 'apr_000000000000']) {
      expect(await approvals.use(id)).toBe(false);
      expect(await commit(id)).toBe('unapproved');
    }
    // The next call like it is asked for anew.
    expect((await approvals.ask(approvalOf({ subject: 'd' })))!.approval.id).not.toBe(used);
  });

  test('B12 a decision is made once, recorded once, and only for an open request', async () => {
    const store = await open();
    const { approvals } = store;
    const { id } = (await approvals.ask(approvalOf()))!.approval;
    const decision = decisionOf(false);
    expect(await approvals.decide(id, decision, DECIDED)).toMatchObject({
      id,
      decision,
      expiresAt: decision.expiresAt,
    });
    expect(await approvals.decide(id, decisionOf(true), DECIDED)).toBeUndefined();
    expect((await approvals.ask(approvalOf()))!.approval.decision).toEqual(decision);
    if (bodiesOf) expect(await bodiesOf(store, '@operator')).toEqual([DECIDED.body]);
    const past = approvalOf({ subject: 'late', expiresAt: Date.now() - 1 });
    expect(await approvals.decide((await approvals.ask(past))!.approval.id, GONE, DECIDED)).toBeUndefined();
  });

  test('B12 a used key leaves the approval unused, and a missing approval leaves the key free', async () => {
    const { journal, approvals, reservations } = await open();
    const { id } = (await approvals.ask(approvalOf()))!.approval;
    await approvals.decide(id, decisionOf(true), DECIDED);
    const entry = { chain: 'acme', body: INTENT };
    await journal.commit(entry, reservationOf('ada', 'k'));
    expect(await journal.commit(entry, reservationOf('ada', 'k'), id)).toBe('taken');
    expect(await journal.commit(entry, reservationOf('ada', 'free'), id)).toBe('committed');
    expect(await journal.commit(entry, reservationOf('ada', 'other'), id)).toBe('unapproved');
    expect(await reservations.find('ada', 'other')).toBeUndefined();
  });

  test('B12 a used approval lets its call continue after a question, a few times, until it expires or another is denied', async () => {
    const { approvals } = await open();
    const resume = (owner = '4:acme/ada', subject = 'wipe sda') => approvals.resume(owner, subject);
    expect(await resume()).toBeUndefined();
    const { id } = (await approvals.ask(approvalOf()))!.approval;
    await approvals.decide(id, decisionOf(true), DECIDED);
    expect(await resume()).toBeUndefined();
    await approvals.use(id);
    expect(await resume()).toBe(id);
    expect(await resume('4:acme/bob')).toBeUndefined();
    expect(await resume('4:acme/ada', 'wipe sdb')).toBeUndefined();
    for (let round = 2; round <= 10; round++) expect(await resume()).toBe(id);
    expect(await resume()).toBeUndefined();
    const { id: next } = (await approvals.ask(approvalOf()))!.approval;
    await approvals.decide(next, decisionOf(true), DECIDED);
    await approvals.use(next);
    expect(await resume()).toBe(next);
    const { id: last } = (await approvals.ask(approvalOf()))!.approval;
    await approvals.decide(last, decisionOf(false), DECIDED);
    expect(await resume()).toBeUndefined();
  });

  test('B12 only open requests count towards the limit of a caller, and a request can be found by its name', async () => {
    const { approvals } = await open();
    for (let n = 0; n < 25; n++) {
      const { approval } = (await approvals.ask(approvalOf({ subject: `${n}` })))!;
      expect(await approvals.find(approval.id)).toEqual(approval);
      await approvals.decide(approval.id, decisionOf(n % 2 === 0), DECIDED);
    }
    expect(await approvals.find('apr_000000000000')).toBeUndefined();
  });

  test('B12 the number of open requests of a caller is limited', async () => {
    const { approvals } = await open();
    for (let n = 0; n < 20; n++) expect(await approvals.ask(approvalOf({ subject: `${n}` }))).toBeDefined();
    expect(await approvals.ask(approvalOf({ subject: 'one more' }))).toBeUndefined();
    expect(await approvals.ask(approvalOf({ subject: '7' }))).toBeDefined();
    expect(await approvals.ask(approvalOf({ owner: '4:acme/bob' }))).toBeDefined();
  });
}

function describeQuotas(open: () => Promise<Store>): void {
  test('each token taken from a rate limit window is counted once', async () => {
    const { quotas } = await open();
    const window = { startsAt: Date.now(), endsAt: Date.now() + HOUR_MS };
    const counts = await Promise.all(Array.from({ length: 100 }, async () => quotas.take('acme', window)));
    expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  });

  test('the next window and other names start at zero', async () => {
    const { quotas } = await open();
    const now = Date.now();
    const window = { startsAt: now, endsAt: now + HOUR_MS };
    await quotas.take('acme', window);
    expect(await quotas.take('acme', window)).toBe(2);
    expect(await quotas.take('other', window)).toBe(1);
    expect(await quotas.take('acme', { startsAt: now + HOUR_MS, endsAt: now + 2 * HOUR_MS })).toBe(1);
    expect(await quotas.take('acme', window)).toBe(3);
  });
}

function describeKeys(open: () => Promise<Store>): void {
  test('a key is found by its hash, with its tenant', async () => {
    const { identities } = await open();
    await identities.putKey(keyOf('k1'));
    expect(await identities.findKey('hash of k1')).toEqual({ key: keyOf('k1'), tenant: undefined });
    await identities.putTenant(acme);
    expect(await identities.findKey('hash of k1')).toEqual({ key: keyOf('k1'), tenant: acme });
    expect(await identities.findKey('hash of another')).toBeUndefined();
    expect(await identities.findKey('k1')).toBeUndefined();
    expect(await identities.findKey('')).toBeUndefined();
  });

  test('all keys can be listed', async () => {
    const { identities } = await open();
    expect(await identities.listKeys()).toEqual([]);
    for (const id of ['k2', 'k1', 'k3']) await identities.putKey(keyOf(id));
    expect((await identities.listKeys()).map(({ id }) => id)).toEqual(['k1', 'k2', 'k3']);
  });

  test('a key is revoked once, and stays on record', async () => {
    const { identities } = await open();
    await identities.putKey(keyOf('k1'));
    expect(await identities.revokeKey('k1', 5_000)).toBe(true);
    expect(await identities.revokeKey('k1', 9_000)).toBe(false);
    expect(await identities.revokeKey('missing', 5_000)).toBe(false);
    expect((await identities.findKey('hash of k1'))?.key.revokedAt).toBe(5_000);
    expect((await identities.listKeys()).map(({ revokedAt }) => revokedAt)).toEqual([5_000]);
  });

  test('the time a key was last used is stored, and nothing else about its use', async () => {
    const { identities } = await open();
    for (const id of ['k1', 'k2', 'k3']) await identities.putKey(keyOf(id));
    await identities.touch(['k1', 'k3', 'missing'], 120_000);
    await vi.waitFor(async () => {
      const used = (await identities.listKeys()).map(({ lastUsedAt }) => lastUsedAt);
      expect(used).toEqual([120_000, undefined, 120_000]);
    });
    const { key } = (await identities.findKey('hash of k1'))!;
    expect(key).toEqual({ ...keyOf('k1'), lastUsedAt: 120_000 });
  });

  test('a watcher is notified of new keys, revoked keys and tenants until it stops', async () => {
    const { identities } = await open();
    const heard = vi.fn<() => void>();
    const stopped = vi.fn<() => void>();
    onTestFinished(identities.watch(heard));
    identities.watch(stopped)();
    const changes = [
      () => identities.putTenant(acme),
      () => identities.putKey(keyOf('k1')),
      () => identities.revokeKey('k1', 5_000),
      () => identities.putTenant({ ...acme, disabled: true }),
    ];
    for (const change of changes) {
      heard.mockClear();
      await change();
      await vi.waitFor(() => expect(heard).toHaveBeenCalled(), { timeout: 3_000 });
    }
    expect(stopped).not.toHaveBeenCalled();
  });
}

function describeTenants(open: () => Promise<Store>): void {
  test('tenants can be added, changed, found and listed', async () => {
    const { identities } = await open();
    expect(await identities.findTenant('acme')).toBeUndefined();
    await identities.putTenant(acme);
    await identities.putTenant({ ...acme, id: 'abel' });
    expect(await identities.findTenant('acme')).toEqual(acme);
    await identities.putTenant({ ...acme, disabled: true });
    expect(await identities.findTenant('acme')).toEqual({ ...acme, disabled: true });
    expect((await identities.listTenants()).map(({ id }) => id)).toEqual(['abel', 'acme']);
  });
}

function describeEvents(open: () => Promise<Store>): void {
  test('events that a stream sends at once are stored in order, whatever is asked of it meanwhile', async () => {
    const { events } = (await open()).memory;
    const ids = Array.from({ length: 1_100 }, (_, n) => `a.${n}`);
    const keep = (stream: string, id: string): unknown =>
      events.keep(stream, { id, text: id === 'a.1050' ? 'x'.repeat(100_000) : `\u0001 \ud800 "${id}"` }, ADA);
    const kept = ids.map((id) => keep('s/1', id));
    const meanwhile = events.after('s/1', 'a.1098', ADA);
    const others = [keep('s/2', 'b.1'), events.forget('s/2', ADA), keep('s/2', 'b.2')];
    await Promise.all([...kept, ...others]);
    expect((await meanwhile)?.map(({ id }) => id)).toEqual(['a.1099']);
    const found = await events.after('s/1', 'a.100', ADA);
    expect(found?.map(({ id }) => id)).toEqual(ids.slice(101));
    expect(found![0]!.text.slice(-8)).toBe('"a.101"'.padStart(8));
    expect(found!.find(({ id }) => id === 'a.1050')?.text).toHaveLength(100_000);
    expect(await events.after('s/1', 'a.99', ADA)).toBeUndefined();
    expect(await events.after('s/2', 'b.1', ADA)).toBeUndefined();
    expect(await events.after('s/2', 'b.2', ADA)).toEqual([]);
  });

  test('stored events are found under their own stream only, whatever their ids begin with', async () => {
    const { events } = (await open()).memory;
    for (const id of ['a.1', 'a.2', 'b.1'])
      await events.keep('s/1', { id, text: `event ${id}` }, '4:acme/ada');
    await events.keep('s/2', { id: 'c.1', text: '' }, '4:acme/ada');
    expect(await events.after('s/1', 'a.1', '4:acme/ada')).toEqual([
      { id: 'a.2', text: 'event a.2' },
      { id: 'b.1', text: 'event b.1' },
    ]);
    expect(await events.after('s/1', 'b.1', '4:acme/ada')).toEqual([]);
    for (const [stream, id] of [
      ['s/2', 'a.1'],
      ['s/1', 'c.1'],
      ['s/', 'a.1'],
      ['s/1', 'a.9'],
    ] as const)
      expect(await events.after(stream, id, '4:acme/ada')).toBeUndefined();
    await events.forget('s/1', '4:acme/ada');
    expect(await events.after('s/1', 'a.1', '4:acme/ada')).toBeUndefined();
    expect(await events.after('s/2', 'c.1', '4:acme/ada')).toEqual([]);
  });
}

const MIB = 1_048_576;
const ADA = '4:acme/ada';

async function finished({ journal, reservations }: Store, [owner, key]: [string, string], outcome: string) {
  await journal.commit({ chain: 'acme', body: INTENT }, reservationOf(owner, key));
  await reservations.finish(owner, key, outcome);
}

function digestOf(text: string): { digest: string; bytes: number } {
  return { digest: createHash('sha256').update(text).digest('base64url'), bytes: Buffer.byteLength(text) };
}

function describeOutcomeShares(open: () => Promise<Store>): void {
  test('A8 of an outcome that is too large only the digest is stored, and its key stays used', async () => {
    const store = await open();
    const large = 'ü'.repeat(MIB + 1);
    await finished(store, [ADA, 'large'], large);
    await finished(store, [ADA, 'fits'], 'x'.repeat(2 * MIB));
    const { reservations, journal } = store;
    const left = { subject: 'pay 5', outcome: undefined, notKept: digestOf(large) };
    expect(await reservations.find(ADA, 'large')).toEqual(left);
    expect((await reservations.find(ADA, 'fits'))?.outcome).toHaveLength(2 * MIB);
    await reservations.release(ADA, 'large');
    expect(await journal.commit({ chain: 'acme', body: INTENT }, reservationOf(ADA, 'large'))).toBe('taken');
  });

  test('A8 a caller with too many outcomes keeps only the digests of its oldest, and other callers are not affected', async () => {
    const store = await open();
    await finished(store, ['5:other/eve', 'first of all'], 'y'.repeat(MIB));
    const outcome = 'x'.repeat(1.5 * MIB);
    for (let n = 0; n < 12; n++) await finished(store, [ADA, `k${n}`], outcome);
    const found = await Promise.all(
      Array.from({ length: 12 }, async (_, n) => store.reservations.find(ADA, `k${n}`)),
    );
    expect(found.map((one) => one?.notKept !== undefined)).toEqual([true, true, ...Array(10).fill(false)]);
    expect(found[0]).toEqual({ subject: 'pay 5', outcome: undefined, notKept: digestOf(outcome) });
    expect(found[11]?.outcome).toBe(outcome);
    expect((await store.reservations.find('5:other/eve', 'first of all'))?.outcome).toHaveLength(MIB);
  });

  test('A8 an expired key that is used again has no outcome of the earlier call', async () => {
    const store = await open();
    const { journal, reservations } = store;
    const old = { ...reservationOf(ADA, 'k'), expiresAt: Date.now() + 30 };
    await journal.commit({ chain: 'acme', body: INTENT }, old);
    await reservations.finish(ADA, 'k', 'x'.repeat(3 * MIB));
    await vi.waitFor(async () => expect(await reservations.find(ADA, 'k')).toBeUndefined());
    await journal.commit({ chain: 'acme', body: INTENT }, reservationOf(ADA, 'k'));
    expect(await reservations.find(ADA, 'k')).toEqual({ subject: 'pay 5', outcome: undefined });
  });
}

function taskOf(id: string, changes: Partial<TaskRecord> = {}): TaskRecord {
  const now = Date.now();
  return { id, owner: ADA, status: 'working', createdAt: now, updatedAt: now, ttlMs: HOUR_MS, ...changes };
}

function sessionOf(id: string, client: Readonly<Record<string, unknown>> = {}): SessionRecord {
  return { id, owner: ADA, protocolVersion: '2025-11-25', client, createdAt: Date.now() };
}

function describeShares(open: () => Promise<Store>): void {
  test('A8 a task whose outcome is too large has ended, with the digest of the outcome', async () => {
    const { tasks } = (await open()).memory;
    const result = { content: [{ type: 'text', text: 'x'.repeat(2 * MIB) }] };
    const ended = taskOf('t', { status: 'completed', result });
    await tasks.put(taskOf('t'));
    await tasks.put(ended);
    const { digest, bytes } = digestOf(JSON.stringify(result));
    const data = { reason: 'outcome_not_kept', digest, bytes };
    const { result: _result, ...rest } = ended;
    const message = expect.stringContaining(`${bytes} bytes, SHA-256 ${digest}`) as unknown;
    expect(await tasks.get('t')).toEqual({
      ...rest,
      status: 'failed',
      error: { code: -32603, message, data },
    });
  });

  test('A8 a caller with too many or too large tasks loses its own oldest, and other callers are not affected', async () => {
    const { tasks } = (await open()).memory;
    await tasks.put(taskOf('first of all', { owner: '5:other/eve' }));
    await Promise.all(Array.from({ length: 1_001 }, async (_, n) => tasks.put(taskOf(`t${n}`))));
    expect(await tasks.get('t0')).toBeUndefined();
    expect(await tasks.get('t1')).toBeDefined();
    const result = { text: 'x'.repeat(1.5 * MIB) };
    for (let n = 0; n < 11; n++) await tasks.put(taskOf(`large ${n}`, { status: 'completed', result }));
    expect(await tasks.get('t1000')).toBeUndefined();
    expect(await tasks.get('large 0')).toBeUndefined();
    expect(await tasks.get('large 10')).toMatchObject({ result });
    expect(await tasks.get('first of all')).toBeDefined();
  });

  test('A8 the size of a session and the number of sessions of a caller are limited', async () => {
    const { sessions } = (await open()).memory;
    await expect(
      (async () => sessions.put(sessionOf('s', { name: 'x'.repeat(66_000) })))(),
    ).rejects.toMatchObject({
      code: 'too_large',
    });
    expect(await sessions.get('s')).toBeUndefined();
    const record = sessionOf('last', { name: 'a' });
    await sessions.put(record);
    expect(await sessions.get('last')).toEqual(record);
  });

  test('A8 the stored size of a stream, and of all streams of a caller, is limited', async () => {
    const { events } = (await open()).memory;
    const large = 'x'.repeat(600_000);
    await events.keep('other', { id: '1', text: large }, '5:other/eve');
    for (const id of ['1', '2', '3']) await events.keep('s', { id, text: large }, ADA);
    expect(await events.after('s', '2', ADA)).toBeUndefined();
    expect(await events.after('s', '3', ADA)).toEqual([]);
    for (let n = 0; n < 28; n++) await events.keep(`s${n}`, { id: '1', text: large }, ADA);
    expect(await events.after('s', '3', ADA)).toBeUndefined();
    expect(await events.after('s27', '1', ADA)).toEqual([]);
    expect(await events.after('other', '1', '5:other/eve')).toEqual([]);
    const tooLarge = { id: '2', text: 'x'.repeat(5 * MIB) };
    await expect((async () => events.keep('s27', tooLarge, ADA))()).rejects.toMatchObject({
      code: 'too_large',
    });
  });

  test("A8 the total size of a caller's open approval requests is limited", async () => {
    const { approvals } = await open();
    const long = { arguments: JSON.stringify({ text: 'x'.repeat(1_500_000) }) };
    expect(await approvals.ask(approvalOf({ subject: 'a', ...long }))).toBeDefined();
    expect(await approvals.ask(approvalOf({ subject: 'b', ...long }))).toBeDefined();
    expect(await approvals.ask(approvalOf({ subject: 'c', ...long }))).toBeUndefined();
    expect((await approvals.ask(approvalOf({ subject: 'a', ...long })))?.approval.arguments).toBe(
      long.arguments,
    );
    expect(await approvals.ask(approvalOf({ owner: '5:other/eve', ...long }))).toBeDefined();
  });
}

function describeJournal<S extends Store>(
  open: () => Promise<S>,
  bodiesOf?: (store: S, chain: string) => Awaitable<readonly string[]>,
): void {
  test('an open store can be written to', async () => {
    const { journal } = await open();
    expect(journal.isReady).toBe(true);
    await expect(journal.append({ chain: 'acme', body: INTENT })).resolves.toBeUndefined();
  });

  test.runIf(bodiesOf)('rows are stored in the order they were written, unchanged', async () => {
    const store = await open();
    const bodies = Array.from({ length: 50 }, (_, n) => `{"n":${n},"text":"Grüße \u{1f600}"}`);
    await Promise.all(
      bodies.map((body, n) =>
        n % 2 === 0
          ? store.journal.append({ chain: 'acme', body })
          : store.journal.commit({ chain: 'acme', body }, undefined),
      ),
    );
    await store.journal.append({ chain: 'other', body: '{"n":"other"}' });
    expect(await bodiesOf!(store, 'acme')).toEqual(bodies);
    expect(await bodiesOf!(store, 'other')).toEqual(['{"n":"other"}']);
  });

  test.runIf(bodiesOf)('a commit with a key that is already used writes nothing', async () => {
    const store = await open();
    await store.journal.commit({ chain: 'acme', body: '{"n":"first"}' }, reservationOf('ada', 'k'));
    await store.journal.commit({ chain: 'acme', body: '{"n":"second"}' }, reservationOf('ada', 'k'));
    expect(await bodiesOf!(store, 'acme')).toEqual(['{"n":"first"}']);
  });
}

const acme: TenantRecord = { id: 'acme', name: 'Acme', data: { plan: 'pro', seats: 5 }, disabled: false };

function reservationOf(owner: string, key: string): Reservation {
  return { owner, key, subject: 'pay 5', expiresAt: Date.now() + 24 * HOUR_MS };
}

function keyOf(id: string): KeyRecord {
  return {
    id,
    hash: `hash of ${id}`,
    tenant: 'acme',
    caller: 'ada',
    scopes: ['read'],
    roles: ['admin'],
    createdAt: 1_000,
    expiresAt: undefined,
    revokedAt: undefined,
    lastUsedAt: undefined,
  };
}
