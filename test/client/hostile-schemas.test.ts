import { createHook } from 'node:async_hooks';
import { lookup } from 'node:dns/promises';
import { expect, test } from 'vitest';
import { within } from '../within.ts';
import { makeUp, open, said, standard, type MadeUp } from './peers.ts';

type Json = Readonly<Record<string, unknown>>;

const repeated = (times: number, make: (inner: Json, level: number) => Json): Json => {
  let schema: Json = {};
  for (let level = 0; level < times; level++) schema = make(schema, level);
  return schema;
};
const numbered = (count: number, make: (index: number) => unknown): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, make(index)]));
const ten = Array.from({ length: 10 }, () => ({}));
const objects = Array.from({ length: 6_000 }, (_, index) => ({ index }));

/** Schemas that would be fetched, never end or fill memory, and a value to check against each. */
const bombs: Readonly<Record<string, readonly [member: Json, value: unknown]>> = {
  'leads elsewhere': [{ $ref: 'http://schemas.toolcrib.example/x.json' }, 'x'],
  'leads to a file': [{ $ref: 'file:///etc/passwd' }, 'x'],
  'names itself by an address': [{ $id: 'https://schemas.toolcrib.example/', $ref: 'x.json' }, 'x'],
  'leads to itself': [{ $ref: '#/properties/a' }, 'x'],
  'leads to itself dynamically': [{ $dynamicAnchor: 'a', $dynamicRef: '#a' }, 'x'],
  'is deep': [repeated(60, (items) => ({ items })), [[[]]]],
  'is wide': [{ anyOf: Array.from({ length: 3_000 }, (_, index) => ({ const: index })) }, 'x'],
  'has many properties': [
    { properties: numbered(20_000, () => ({ type: 'string' })) },
    numbered(100, String),
  ],
  'doubles at every level': [repeated(11, (inner) => ({ allOf: [inner, inner] })), 'x'],
  'doubles by references': [
    {
      $ref: '#/properties/a/$defs/n24',
      $defs: numbered(25, (index) =>
        index === 0 ? {} : { allOf: [1, 2].map(() => ({ $ref: `#/properties/a/$defs/n${index - 1}` })) },
      ),
    },
    'x',
  ],
  'has a pattern that takes ages': [{ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`],
  'has a pattern that looks around': [{ pattern: '(a+)+(?=b)' }, 'a'.repeat(1_000)],
  'compares all items': [{ uniqueItems: true }, objects],
  'fills in what it fills in': [
    repeated(10, (items) => ({ properties: { b: { default: ten, items } } })),
    {},
  ],
};
const names = Object.keys(bombs);
// The others cannot be checked, or the value fits them.
const checked = new Set(['has a pattern that takes ages', 'fills in what it fills in']);

/** How many names were looked up while something ran. */
async function lookups(run: () => Promise<void>): Promise<number> {
  let count = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'GETADDRINFOREQWRAP' || type === 'QUERYWRAP') count++;
    },
  });
  hook.enable();
  try {
    await run();
  } finally {
    hook.disable();
  }
  return count;
}

const outcomeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'answered',
    (error: unknown) => (error as { code?: unknown }).code ?? error,
  );

const schemaOf = (name: string): Json => ({ type: 'object', properties: { a: bombs[name]![0] } });

/** A server with a tool for each of these, which answers with the arguments as its data. */
function serving(place: 'inputSchema' | 'outputSchema'): Promise<MadeUp> {
  const tools = names.map((name) => ({ name, inputSchema: { type: 'object' }, [place]: schemaOf(name) }));
  return makeUp((got) => {
    const { method, params } = got.body;
    if (method === 'tools/list') return got.reply({ tools, ttlMs: 60_000, cacheScope: 'private' });
    if (method !== 'tools/call') return standard(got);
    got.reply({ content: [], structuredContent: (params as Json)['arguments'] });
  });
}

test.each([
  ['inputSchema', 'invalid_arguments'],
  ['outputSchema', 'invalid_answer'],
] as const)(
  'C8 a hostile %s of a tool is not fetched, not followed and not waited for: calls go on, or are refused',
  async (place, code) => {
    const server = await serving(place);
    const client = await open(server.url, { checkResults: 'strict' });
    const outcomes: Record<string, unknown> = {};
    const looked = await lookups(async () => {
      expect((await client.listTools()).map(({ name }) => name)).toEqual(names);
      for (const name of names)
        outcomes[name] = await within(10_000, name, outcomeOf(client.callTool(name, { a: bombs[name]![1] })));
    });
    expect(looked).toBe(0);
    // What cannot be checked here is left to the server.
    expect(outcomes).toEqual(
      Object.fromEntries(names.map((name) => [name, checked.has(name) ? code : 'answered'])),
    );
  },
);

test('C8 a form with a hostile schema is refused before a person sees it, and nothing is fetched', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    const { name, inputResponses } = got.body['params'] as { name: string; inputResponses?: object };
    if (inputResponses) return got.reply(said('filled in'));
    const params = { mode: 'form', message: name, requestedSchema: schemaOf(name) };
    got.reply({
      resultType: 'input_required',
      inputRequests: { form: { method: 'elicitation/create', params } },
    });
  });
  const shown: string[] = [];
  const client = await open(server.url, {
    handlers: {
      form: ({ message }) => {
        shown.push(message);
        return { action: 'accept', content: { a: bombs[message]![1] } };
      },
    },
  });
  const outcomes: Record<string, unknown> = {};
  const looked = await lookups(async () => {
    for (const name of names) outcomes[name] = await within(10_000, name, outcomeOf(client.callTool(name)));
  });
  expect(looked).toBe(0);
  const refused = Object.fromEntries(names.map((name) => [name, 'invalid_tool']));
  const answers = {
    'has a pattern that takes ages': 'invalid_arguments',
    'fills in what it fills in': 'invalid_arguments',
    'compares all items': 'answered',
  };
  expect(outcomes).toEqual({ ...refused, ...answers });
  expect(shown.toSorted()).toEqual(Object.keys(answers).toSorted());
});

test('a name that is looked up is noticed by these tests', async () => {
  expect(await lookups(async () => void (await lookup('localhost')))).toBeGreaterThan(0);
});
