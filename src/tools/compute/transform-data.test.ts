import { expect, test } from 'vitest';
import { firstFew } from '../../../test/property-runs.ts';
import { ToolRegistry } from '../../index.ts';
import { transformDataTool } from '../../tools.ts';

// Built, because reading the source takes longer than all of the work.
const worker = new URL('../../../dist/transform-worker.js', import.meta.url);
const registry = new ToolRegistry().registerTool(transformDataTool({ timeoutSeconds: 30 }, { worker }));
const transform = (args: Record<string, unknown>, signal?: AbortSignal): Promise<unknown> =>
  registry.execute('transform_data', args, signal ? { signal } : {});

const people = '[{"name":"Ada","age":36},{"name":"Bob","age":25}]';
const table = 'name,age\nAda,36\n"Bob, the 2nd",25\n';
const yaml = 'people:\n  - { name: Ada, age: 36 }\n';

test.each<[string, Record<string, unknown>, unknown]>([
  ['a query', { data: people, query: '[?age > `30`].name' }, { data: ['Ada'] }],
  ['a total', { data: people, query: 'sum([].age)' }, { data: 61 }],
  ['nothing found', { data: people, query: 'missing' }, { data: null }],
  [
    'everything',
    { data: people },
    {
      data: [
        { name: 'Ada', age: 36 },
        { name: 'Bob', age: 25 },
      ],
    },
  ],
  ['CSV in', { data: table, from: 'csv', query: '[1]' }, { data: { name: 'Bob, the 2nd', age: '25' } }],
  ['CSV out', { data: people, to: 'csv' }, { text: 'name,age\r\nAda,36\r\nBob,25' }],
  ['YAML in', { data: yaml, from: 'yaml', query: 'people[0].age' }, { data: 36 }],
  ['YAML out', { data: people, query: '[0]', to: 'yaml' }, { text: 'name: Ada\nage: 36\n' }],
])('%s works (003-01)', async (_what, args, answer) => {
  expect(await transform(args)).toEqual(answer);
});

test.each<[string, Record<string, unknown>, string]>([
  ['data that is no JSON', { data: '{' }, 'Invalid data'],
  ['data that is no YAML', { data: 'a: [', from: 'yaml' }, 'Invalid data'],
  ['data that is no CSV', { data: 'a,b\n"x,y', from: 'csv' }, 'Invalid data'],
  ['a query that cannot be read', { data: '{}', query: '[?' }, 'Invalid query'],
  ['a function that is not there', { data: '{}', query: 'evil(@)' }, 'Invalid query'],
  ['a table of what is none', { data: '5', to: 'csv' }, 'No table'],
])('%s is reported as an error', async (_what, args, error) => {
  expect(await transform(args)).toMatchObject({ error, message: expect.any(String) });
});

const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n`;

test('D3 a few lines of YAML that expand to gigabytes are refused', async () => {
  expect(await transform({ data: bomb, from: 'yaml', to: 'yaml' })).toMatchObject({ error: 'Invalid data' });
});

test('D3 data that is nested too deeply ends its own thread only', async () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  expect(await transform({ data: deep })).toHaveProperty('error');
  expect(await transform({ data: deep, from: 'yaml' })).toHaveProperty('error');
  expect(await transform({ data: '1' })).toEqual({ data: 1 });
});

const inherited = [
  '__proto__',
  'constructor.constructor',
  'deep.constructor',
  'constructor',
  'toString',
  '"__proto__".polluted',
  'length',
];

test.each(firstFew(inherited, 3))(
  'D3 a query finds members of the data, and no inherited ones: %s',
  async (query) => {
    expect(await transform({ data: '{"own": 1, "deep": {}}', query })).toEqual({ data: null });
  },
);

test('D3 keys that every object inherits are ordinary data, and change nothing', async () => {
  const data = '{"__proto__": {"polluted": true}, "constructor": 1}';
  expect(await transform({ data, query: 'constructor' })).toEqual({ data: 1 });
  const csv = (await transform({ data: '__proto__,b\nx,1\n', from: 'csv', to: 'csv' })) as { text: string };
  expect(csv.text).toBe('__proto__,b\r\nx,1');
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('data that is too large to send or to return is refused', async () => {
  const small = new ToolRegistry().registerTool(transformDataTool({ maxBytes: 1_024 }, { worker }));
  const long = JSON.stringify('ö'.repeat(600));
  expect(await small.execute('transform_data', { data: long })).toMatchObject({ error: 'Data too large' });
  const list = JSON.stringify(Array(100).fill(1));
  const args = { data: list, query: '[].{a: `1`, b: `2`, c: `3`}' };
  expect(await small.execute('transform_data', args)).toMatchObject({ error: 'Result too large' });
});

const endless = {
  data: JSON.stringify(Array.from({ length: 30_000 }, () => ({ a: 'x' }))),
  query: '[].length($[].a)',
};

test('D5 a query that takes too long, or is cancelled, is ended with its thread', async () => {
  const hasty = new ToolRegistry().registerTool(transformDataTool({ timeoutSeconds: 1 }, { worker }));
  expect(await hasty.execute('transform_data', endless)).toMatchObject({ error: 'Took too long' });
  const stop = new AbortController();
  const call = transform(endless, stop.signal).catch(String);
  stop.abort(new Error('gone away'));
  expect(await call).toBe('Error: gone away');
});

test('a few transformations run at a time, and further ones are refused as busy', async () => {
  const stop = new AbortController();
  const calls = Array.from({ length: 4 }, () => transform(endless, stop.signal).catch(String));
  await expect(transform({ data: '1' })).rejects.toMatchObject({ code: 'busy' });
  stop.abort(new Error('enough'));
  expect(await Promise.all(calls)).toEqual(Array(4).fill('Error: enough'));
  expect(await transform({ data: '1' })).toEqual({ data: 1 });
});
