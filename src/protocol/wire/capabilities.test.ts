import { expect, test } from 'vitest';
import { knownCapabilities } from './capabilities.ts';

const TASKS = 'io.modelcontextprotocol/tasks';

test('known capabilities are kept in one form, and everything else is left out', () => {
  expect(
    knownCapabilities({
      elicitation: { form: { any: 'thing' }, url: {}, more: {} },
      sampling: { tools: {}, more: [1] },
      roots: { listChanged: true, more: 1 },
      extensions: { [TASKS]: { any: 'thing' }, 'com.example/ui': { mimeTypes: ['text/html'] } },
      experimental: { more: {} },
      more: {},
    }),
  ).toEqual({
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: { listChanged: true },
    extensions: { [TASKS]: {}, 'com.example/ui': { mimeTypes: ['text/html'] } },
  });
});

test.each([undefined, null, 'all', 1, [], ['sampling'], { sampling: true, elicitation: [], roots: null }])(
  'a client that declares %j has no capabilities',
  (declared) => expect(knownCapabilities(declared)).toEqual({}),
);

test('A8 the stored capabilities of a client are small, for any declaration', () => {
  const junk = Array.from({ length: 1_000 }, (_, n) => ({ [`key ${n}`]: 'x'.repeat(100) }));
  const names = Array.from({ length: 1_000 }, (_, n) => [`com.example/${n}`, { junk }] as const);
  const known = knownCapabilities({
    elicitation: { form: junk },
    sampling: { tools: junk },
    roots: { listChanged: junk },
    extensions: {
      ['x'.repeat(1_000)]: {},
      short: { a: 'x'.repeat(500) },
      ...Object.fromEntries(names),
      [TASKS]: junk,
    },
    junk,
  });
  expect(JSON.stringify(known).length).toBeLessThan(4_000);
  expect(known).toMatchObject({
    elicitation: { form: {} },
    extensions: { [TASKS]: {}, short: { a: 'x'.repeat(500) } },
  });
});
