import { expect, test } from 'vitest';
import { z } from 'zod';
import { errorTable, type ErrorCode } from '../../src/base/errors.ts';
import { definePrompt, defineResource, defineTool, ToolcribError } from '../../src/index.ts';
import { openCrib } from '../gateway.ts';
import { describeMatrix } from './matrix.ts';

const codes = Object.keys(errorTable) as ErrorCode[];
// What a tool may say of itself.
const passing = new Set<ErrorCode>([
  'invalid_arguments',
  'invalid_output',
  'cannot_ask',
  'timed_out',
  'refused',
  'result_too_large',
  'upstream_unavailable',
  'invalid_answer',
  'needs_sign_in',
  'tool_failed',
]);
// What only stages can know; the text is of use all the same.
const worded = new Set<ErrorCode>([
  'rate_limited',
  'busy',
  'key_reused',
  'outcome_unknown',
  'outcome_not_kept',
  'approval_required',
]);
const reads = { annotations: { readOnlyHint: true } };

const throwing = (name: string, error: unknown) =>
  defineTool({ name, description: 'Throws.', ...reads }, () => {
    throw error;
  });

const spiteful = new Proxy(
  {},
  {
    getPrototypeOf() {
      throw new Error('No.');
    },
  },
);

describeMatrix(({ connect }) => {
  test('a call whose tool throws any error code is answered with a result', async () => {
    const tools = codes.map((code) => throwing(code, new ToolcribError(code, `Own words of ${code}.`)));
    const peer = await connect({ tools });
    const texts: Record<string, string> = {};
    for (const code of codes) {
      const { isError, content } = await peer.call(code);
      expect(isError).toBe(true);
      texts[code] = content[0]!.text.replace(/incident \w{8}/, 'incident 1');
    }
    expect(texts).toEqual(
      Object.fromEntries(
        codes.map((code) => [
          code,
          passing.has(code) || worded.has(code)
            ? `Own words of ${code}.`
            : `${code} failed unexpectedly (incident 1).`,
        ]),
      ),
    );
  });

  test('an unknown error code and a value that cannot be inspected are unexpected failures like any other', async () => {
    const tools = [
      throwing('odd', new ToolcribError('constructor' as ErrorCode, 'Own words.')),
      throwing('spiteful', spiteful),
    ];
    const peer = await connect({ tools });
    for (const { name } of tools) {
      const { isError, content } = await peer.call(name);
      expect(isError).toBe(true);
      expect(content[0]!.text).toMatch(/^\w+ failed unexpectedly \(incident \w{8}\)\.$/);
    }
  });
});

describeMatrix(({ connect }) => {
  test('a resource and a prompt can report "not found" and "wrong arguments", and no other error code of the server', async () => {
    const fail = (code: ErrorCode) => () => {
      throw new ToolcribError(code, `Own words of ${code}.`);
    };
    const peer = await connect({
      resources: [
        defineResource({ uri: 'x:gone', name: 'gone' }, fail('unknown_resource')),
        defineResource({ uri: 'x:quiet', name: 'quiet' }, fail('cancelled')),
        defineResource({ uri: 'x:closed', name: 'closed' }, fail('unauthenticated')),
      ],
      prompts: [
        definePrompt({ name: 'picky' }, fail('invalid_params')),
        definePrompt({ name: 'quiet' }, fail('cancelled')),
      ],
    });
    const said = async (method: string, params: Record<string, unknown>): Promise<string> =>
      (await peer.error(method, params)).message.replace(/incident \w{8}/, 'incident 1');
    expect(await said('resources/read', { uri: 'x:gone' })).toBe('Own words of unknown_resource.');
    expect(await said('resources/read', { uri: 'x:quiet' })).toBe('quiet failed unexpectedly (incident 1).');
    expect(await said('resources/read', { uri: 'x:closed' })).toBe(
      'closed failed unexpectedly (incident 1).',
    );
    expect(await said('prompts/get', { name: 'picky' })).toBe('Own words of invalid_params.');
    expect(await said('prompts/get', { name: 'quiet' })).toBe('quiet failed unexpectedly (incident 1).');
  });
});

test('the record says that a tool ran and failed, whatever error code it threw', async () => {
  const own = [...codes.filter((code) => !passing.has(code)), 'tool_failed' as const];
  const crib = await openCrib({
    offers: own.map((code) => throwing(code, new ToolcribError(code, `Own words of ${code}.`))),
  });
  const peer = await crib.connect('ada');
  for (const code of own) await peer.call(code);
  const rows = own.map((code) => crib.rowsOf(code));
  expect(rows).toMatchObject(own.map(() => [{ kind: 'call', decision: 'allowed', outcome: 'tool_failed' }]));
});

test("a failure in a schema, a decision, a resource or a prompt is on record as a failure of the author's code", async () => {
  const fail = (): never => {
    throw new Error('db.internal does not answer');
  };
  const late = (): Promise<never> => Promise.reject(new Error('db.internal does not answer'));
  const input = (check: () => unknown) => z.object({ a: z.string().refine(check) });
  const described = { description: 'Fails.', ...reads };
  const tools = [
    defineTool({ name: 'input', ...described, input: input(fail) }, () => 'ok'),
    { ...defineTool({ name: 'late_input', ...described }, () => 'ok'), parseInput: late },
    defineTool({ name: 'output', ...described, output: input(fail) }, () => ({ a: 'x' })),
    { ...defineTool({ name: 'late_output', ...described, output: {} }, () => ({})), parseOutput: late },
    defineTool({ name: 'permit', ...described, authorize: fail }, () => 'ok'),
    defineTool({ name: 'late_permit', ...described, authorize: late }, () => 'ok'),
  ];
  const crib = await openCrib({
    offers: [
      ...tools,
      defineResource({ uri: 'x:a', name: 'a' }, fail),
      definePrompt({ name: 'p', arguments: { x: { complete: fail } } }, fail),
    ],
  });
  const peer = await crib.connect('ada');
  for (const { name } of tools) {
    const { isError, content } = await peer.call(name, name.endsWith('input') ? { a: 'x' } : {});
    expect([name, isError, content[0]!.text]).toEqual([
      name,
      true,
      expect.stringMatching(/failed unexpectedly \(incident \w{8}\)\.$/),
    ]);
  }
  await peer.error('resources/read', { uri: 'x:a' });
  await peer.error('prompts/get', { name: 'p' });
  const ref = { type: 'ref/prompt', name: 'p' };
  await peer.error('completion/complete', { ref, argument: { name: 'x', value: '' } });
  expect(crib.rows().map(({ outcome }) => outcome)).toEqual(Array.from({ length: 9 }, () => 'tool_failed'));
  expect(peer.wire.heard.join('\n')).not.toContain('db.internal');
});
