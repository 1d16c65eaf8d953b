import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt } from '../../core/prompts/prompt.ts';
import { defineResource } from '../../core/resources/resource.ts';
import { defineTool } from '../../core/tool.ts';
import { createFakeClock } from '../../testing.ts';
import { chainOfTenant, RowWriter, tenantOfChain, type RowOptions } from './audit-row.ts';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ada, callBase, callOf } from '../../../test/recorded-calls.ts';

const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.looseObject({}) }, () => 'paid');

test('equal arguments have equal digests in any order, and a digest cannot be guessed without the key (000-39)', () => {
  const digestOf = (args: Record<string, unknown>, digestKey = 'one'): unknown =>
    rowOf({ digestKey }, args)['arguments'];
  expect(digestOf({ a: 1, b: 2 })).toBe(digestOf({ b: 2, a: 1 }));
  expect(digestOf({ a: 1, b: 2 })).not.toBe(digestOf({ a: 1, b: 3 }));
  expect(digestOf({ pin: '1234' }, 'one')).not.toBe(digestOf({ pin: '1234' }, 'another'));
  expect(JSON.stringify(rowOf({}, { pin: '1234' }))).not.toContain('1234');
});

test('the order of keys does not change a digest, at any depth (000-39)', () => {
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]) => [key, reversed(inner)]);
    return Object.fromEntries(entries.toReversed());
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (load) => {
      const there = rowOf({}, { load })['arguments'];
      expect(rowOf({}, { load: reversed(load) })['arguments']).toBe(there);
      expect(rowOf({}, { load: [load] })['arguments']).not.toBe(there);
    }),
    { numRuns: propertyRuns() },
  );
});

test('a preview of arguments is redacted and cut (000-39)', () => {
  const redact = (text: string): string => text.replaceAll('hunter2', '[secret]');
  const row = rowOf({ show: 'preview', redact }, { password: 'hunter2', note: 'x'.repeat(100_000) });
  expect(row['preview']).toMatch(/^\{"password":"\[secret\]","note":"xxx/);
  expect(String(row['preview'])).toHaveLength(4_096);
});

test('a change after the end of a preview changes the digest beside it (000-39)', () => {
  const long = 'x'.repeat(100_000);
  const rows = [5, 5_000].map((amount) => rowOf({ show: 'preview' }, { note: long, amount }));
  expect(rows[0]!['preview']).toBe(rows[1]!['preview']);
  expect(rows[0]!['arguments']).not.toBe(rows[1]!['arguments']);
  expect(rows[0]!['arguments']).toBe(rowOf({ show: 'hashed' }, { amount: 5, note: long })['arguments']);
});

test('E4 a secret at the end of a preview is removed before the cut', () => {
  const redact = (text: string): string => text.replaceAll('hunter2', '[secret]');
  const row = rowOf({ show: 'preview', redact }, { note: `${'x'.repeat(4_081)}hunter2` });
  expect(row['preview']).not.toContain('hunt');
});

test.each([165, 176, 188])(
  'E4 a secret after %i letters of a name is removed before the cut, in any field',
  (before) => {
    const name = `${'x'.repeat(before)}${secret}`;
    const text = rowsNaming(name, { redact: redactSecret }).join('\n');
    expect(text.match(/x{165,}/g)).toHaveLength(9);
    expect(partsIn(text)).toEqual([]);
    // The search does find what a cut leaves over.
    expect(partsIn(`${'x'.repeat(before)}${secret}`.slice(0, before + 12))).toHaveLength(1);
  },
);

test('E4 a secret at the end of the searched text is not shown in part, however much was removed before it', () => {
  const long = `<${'y'.repeat(30_000)}>`;
  const redact = (text: string): string => redactSecret(text).replaceAll(/<y*>/g, '[long]');
  for (const end of [65_536 - secret.length + 1, 65_510, 65_524]) {
    const name = `${long}${long}`.padEnd(end, '<').replace(/<+$/, (pad) => `<${'y'.repeat(pad.length - 2)}>`);
    expect(redact(name)).toBe('[long][long][long]');
    const rows = rowsNaming(`${name}${secret}`, { redact, show: 'preview' });
    expect(partsIn(rows.join('\n'))).toEqual([]);
    // Without that, the cut after the search does leave a part.
    expect(partsIn(redact(`${name}${secret}`.slice(0, 65_536)).slice(0, 200))).not.toEqual([]);
  }
});

test('E2 a name is cut after 200 letters', () => {
  for (const length of [200, 201, 65_536, 65_537, 1_000_000]) {
    const [row] = rowsNaming('n'.repeat(length), {});
    const { tool } = JSON.parse(row!) as { tool: string };
    expect(tool).toBe(`${'n'.repeat(200)}${length > 200 ? '…' : ''}`);
  }
});

test('with that option a row has no arguments, and rows of resource reads have none either', () => {
  const row = rowOf({ show: 'none' }, { a: 1 });
  expect(row).not.toHaveProperty('arguments');
  expect(row).not.toHaveProperty('preview');
  const resource = defineResource({ uri: 'file:///a', name: 'a' }, () => '');
  const call = { ...callBase(), kind: 'resource' as const, resource, uri: 'file:///a', variables: {} };
  expect(writerOf({}).ending(call, { outcome: 'done', ms: 0 })).not.toContain('"arguments"');
});

test('an outcome has the caller, the tool and the facts that were not known for the intent', () => {
  const call = callOf(pay);
  call.record.noteIntent();
  call.record.measure(12);
  expect(JSON.parse(writerOf({}).ending(call, { outcome: 'done', ms: 1.23456 }))).toEqual({
    kind: 'outcome',
    call: call.record.id,
    at: '2026-01-01T00:00:00.000Z',
    tenant: 'acme',
    caller: 'ada',
    credential: 'key_1',
    tool: 'pay',
    definition: expect.any(String),
    outcome: 'done',
    ms: 1.235,
    bytes: 12,
  });
});

test('E2 the chain name of a tenant is one word, and different for each tenant', () => {
  expect(['acme', 'a.b-c_d', '42'].map(chainOfTenant)).toEqual(['acme', 'a.b-c_d', '42']);
  const odd = ['', ' ', '@operator', 'a\tb', 'a\nb', 'ä', '\ud800', '\udc00', '%20', '"', 'a b', '\u0000'];
  const chains = odd.map(chainOfTenant);
  for (const chain of chains) expect(chain).toMatch(/^[!-~]+$/);
  expect(new Set(chains).size).toBe(odd.length);
  expect(chains.map(tenantOfChain)).toEqual(odd);
  expect(['acme', '@operator', '%zz', '5%20'].map(tenantOfChain)).toEqual([
    'acme',
    '@operator',
    '%zz',
    '5%20',
  ]);
});

const secret = 'K7q-ZpW3vT9mRb2LxJ8c-Hd5Ny6Fs4Ga1Eu0Qo';

function redactSecret(text: string): string {
  return text.replaceAll(secret, '[secret]');
}

// Every piece of the secret that is long enough to be told from chance.
function partsIn(text: string): string[] {
  return Array.from({ length: secret.length - 11 }, (_, at) => secret.slice(at, at + 12)).filter((part) =>
    text.includes(part),
  );
}

// One row for each place a name can have.
function rowsNaming(name: string, options: Partial<RowOptions>): string[] {
  const rows = writerOf(options);
  const ending = { outcome: 'done', ms: 0 } as const;
  const tool = { ...pay, name };
  const resource = defineResource({ uri: 'file:///a', name: 'a' }, () => '');
  const prompt = { ...definePrompt({ name: 'p' }, () => ''), name };
  const client = { ...callBase().client, name: 'c', version: '1' };
  const argument = { name: 'a', value: '' };
  return [
    rows.ending(callOf(tool), ending),
    rows.ending(
      { ...callBase(), kind: 'resource', resource: { ...resource, name }, uri: 'u', variables: {} },
      ending,
    ),
    rows.ending({ ...callBase(), kind: 'resource', resource, uri: name, variables: {} }, ending),
    rows.ending({ ...callBase(), kind: 'prompt', prompt, arguments: {} }, ending),
    rows.ending({ ...callBase(), kind: 'completion', target: prompt, argument, chosen: {} }, ending),
    rows.ending(callOf(pay, { client: { ...client, name } }), ending),
    rows.ending(callOf(pay, { client: { ...client, protocolVersion: name } }), ending),
    rows.refusal({ caller: ada, method: name, target: undefined, code: 'unknown_method' }),
    rows.refusal({ caller: ada, method: 'tools/call', target: name, code: 'invalid_request' }),
    rows.intent(callOf(pay, { arguments: { name } })),
  ];
}

function writerOf(options: Partial<RowOptions>): RowWriter {
  return new RowWriter({
    clock: createFakeClock(),
    show: 'hashed',
    digestKey: 'key',
    policyVersion: 'p1',
    redact: (text) => text,
    ...options,
  });
}

function rowOf(options: Partial<RowOptions>, args: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(writerOf(options).intent(callOf(pay, { arguments: args }))) as Record<string, unknown>;
}
