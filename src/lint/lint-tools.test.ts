import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { propertyRuns } from '../../test/property-runs.ts';
import { AbstractTool } from '../core/authoring/abstract-tool.ts';
import { defineTool, type ListedTool } from '../core/tool.ts';
import type { Severity } from './finding.ts';
import { lintTool, lintTools, ruleIds } from './lint-tools.ts';

const good: ListedTool = {
  name: 'search_pages',
  description:
    'Searches pages by text. Returns id and title of each. Use it to find a page before reading it.',
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string', description: 'Text to look for.' } },
    required: ['query'],
    additionalProperties: false,
  },
  outputSchema: { type: 'object', properties: { ids: { type: 'array', items: { type: 'string' } } } },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

type Change = Readonly<Record<string, unknown>>;
type Case = readonly [what: string, hit: Change, severity: Severity, miss: Change];

const tool = (change: Change): ListedTool => ({ ...good, ...change });
const input = (schema: Change): Change => ({ inputSchema: { ...good.inputSchema, ...schema } });
const property = (schema: Change): Change =>
  input({ properties: { query: { description: 'Text to look for.', ...schema } } });
const output = (schema: Change): Change => ({ outputSchema: schema });
const hints = (annotations: Change): Change => ({ annotations });
const nested = (levels: number): Change =>
  levels === 0
    ? { type: 'string', description: 'Text.' }
    : { type: 'object', description: 'More.', properties: { inner: nested(levels - 1) } };
const many = (count: number): Change =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`field_${at}`, { type: 'string', description: 'A field.' }]),
  );
const says = (description: string): Change => ({ description });

const cases: Readonly<Record<string, readonly Case[]>> = {
  'name-characters': [
    ['a space', { name: 'search pages' }, 'error', { name: 'search_pages' }],
    ['no name', { name: '' }, 'error', { name: 'a' }],
    ['an umlaut', { name: 'such_läufe' }, 'error', { name: 'such_laeufe-2' }],
  ],
  'name-length': [
    ['65 characters', { name: `get_${'a'.repeat(61)}` }, 'error', { name: `get_${'a'.repeat(36)}` }],
    ['41 characters', { name: `get_${'a'.repeat(37)}` }, 'warning', { name: `get_${'a'.repeat(36)}` }],
  ],
  'name-dots': [['a dot', { name: 'pages.search' }, 'warning', { name: 'pages-search' }]],
  'name-verb': [
    ['a bare noun', { name: 'pages' }, 'warning', { name: 'search_pages' }],
    ['another', { name: 'task' }, 'warning', { name: 'create_task' }],
    ['a noun phrase', { name: 'customer_info' }, 'warning', { name: 'getCustomerInfo' }],
    ['another one', { name: 'customer_balance' }, 'warning', { name: 'frobnicate_widget' }],
    ['a noun that may be a verb', { name: 'order' }, 'warning', { name: 'order_pizza' }],
    ['a noun that sounds like a verb', { name: 'result' }, 'warning', { name: 'unstar_page' }],
    ['a prefix before a noun', { name: 'github_issues' }, 'warning', { name: 'github_list_issues' }],
  ],
  'name-abbreviation': [
    ['msg', { name: 'send_msg' }, 'warning', { name: 'send_message' }],
    ['usr in camel case', { name: 'getUsrProfile' }, 'warning', { name: 'getUserProfile' }],
    ['cfg', { name: 'get_cfg' }, 'warning', { name: 'export_html' }],
  ],
  'description-length': [
    ['nothing', says(' '), 'error', says('Searches pages by their text.')],
    ['two words', says('Search pages'), 'warning', says('Searches pages by their text.')],
    ['four words', says('Searches the pages here'), 'warning', says('Searches all the pages here')],
    ['1,025 characters', says('a b '.repeat(257)), 'warning', says('a b '.repeat(256))],
  ],
  'description-returns': [
    ['no result', says('Searches pages by text.'), 'warning', says('Searches pages. Returns the ids.')],
    [
      'only a look-alike',
      says('The returnable bottles.'),
      'warning',
      says('Bottles. The result is a count.'),
    ],
  ],
  'description-when': [
    ['no use', says('Searches pages. Returns ids.'), 'hint', says('Searches pages. Use it to find one.')],
    ['only a look-alike', says('Reuse of pages.'), 'hint', says('Call this whenever a page is needed.')],
  ],
  'parameter-description': [
    ['none', input({ properties: { query: { type: 'string' } } }), 'warning', property({ type: 'string' })],
    [
      'none inside',
      property({ type: 'object', properties: { a: { type: 'string' } } }),
      'hint',
      property({ type: 'object', properties: { a: { const: 'fixed' } } }),
    ],
    [
      'none behind a reference',
      input({ properties: { query: { $ref: '#/$defs/q' } }, $defs: { q: { type: 'string' } } }),
      'warning',
      input({
        properties: { query: { $ref: '#/$defs/q' } },
        $defs: { q: { type: 'string', description: 'A question.' } },
      }),
    ],
  ],
  'hint-missing': [
    ['all', hints({}), 'warning', hints({ readOnlyHint: true, openWorldHint: true })],
    [
      'one',
      {
        name: 'add_page',
        annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
      },
      'hint',
      {
        name: 'add_page',
        annotations: {
          readOnlyHint: false,
          destructiveHint: false,
          idempotentHint: false,
          openWorldHint: false,
        },
      },
    ],
  ],
  'hint-type': [
    [
      'a word',
      hints({ readOnlyHint: 'yes', openWorldHint: false }),
      'error',
      hints({ readOnlyHint: true, openWorldHint: false, myOwn: 'yes' }),
    ],
  ],
  'hint-contradiction': [
    [
      'read-only and destructive',
      hints({ readOnlyHint: true, destructiveHint: true }),
      'error',
      hints({ readOnlyHint: false, destructiveHint: true }),
    ],
    ['read-only by hint, not by name', { name: 'delete_page' }, 'error', { name: 'list_deleted_pages' }],
  ],
  'hint-method': [
    [
      'a look that writes',
      { name: 'list_pages', annotations: { readOnlyHint: false } },
      'warning',
      { name: 'list_pages', annotations: { readOnlyHint: true } },
    ],
    [
      'a change that only looks',
      { name: 'update_page' },
      'warning',
      { name: 'update_page', annotations: { readOnlyHint: false } },
    ],
    [
      'a removal that can be undone',
      { name: 'remove_page', annotations: { readOnlyHint: false, destructiveHint: false } },
      'warning',
      { name: 'remove_page', annotations: { readOnlyHint: false } },
    ],
    [
      'a look and not a mark',
      { name: 'read_marks', annotations: { readOnlyHint: false } },
      'warning',
      { name: 'mail_mark_as_read', annotations: { readOnlyHint: false } },
    ],
    [
      'a look with a prefix',
      { name: 'wiki_get_page', annotations: { readOnlyHint: false } },
      'warning',
      { name: 'fetch_page', annotations: { readOnlyHint: false } },
    ],
  ],
  'audience-value': [
    [
      'a role of its own',
      hints({ audience: ['admin'] }),
      'error',
      hints({ audience: ['user', 'assistant'] }),
    ],
    ['no list', hints({ audience: 'user' }), 'error', hints({ audience: [] })],
  ],
  'priority-value': [
    ['above 1', hints({ priority: 5 }), 'error', hints({ priority: 1 })],
    ['text', hints({ priority: '0.5' }), 'error', hints({ priority: 0.5 })],
  ],
  'schema-root': [
    ['no type', { inputSchema: { properties: {} } }, 'error', { inputSchema: { type: 'object' } }],
    ['no schema', { inputSchema: undefined }, 'error', { inputSchema: { type: 'object', properties: {} } }],
    ['a list as output', output({ type: 'array', items: {} }), 'warning', output({ type: 'object' })],
  ],
  'schema-union-root': [
    [
      'a union as input',
      input({ anyOf: [{ required: ['query'] }] }),
      'error',
      property({ anyOf: [{ type: 'string' }, { type: 'number' }] }),
    ],
    [
      'an intersection as input',
      input({ allOf: [{ required: ['query'] }] }),
      'error',
      input({ not: { required: ['id'] } }),
    ],
    [
      'a union as output',
      output({ oneOf: [{ type: 'object' }] }),
      'warning',
      output({ type: 'object', properties: { kind: { oneOf: [{ const: 'a' }] } } }),
    ],
    [
      'a union as output that may be no object',
      output({ anyOf: [{ type: 'object' }, { type: 'object' }] }),
      'warning',
      output({ type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
    ],
  ],
  'schema-ref': [
    [
      'a reference in the input',
      input({ properties: { query: { $ref: '#/$defs/q' } }, $defs: { q: { type: 'string' } } }),
      'warning',
      input({ properties: { $ref: { type: 'string' } } }),
    ],
    ['a reference elsewhere', property({ $ref: 'https://example.com/q.json' }), 'error', property({})],
    [
      'a reference in the output',
      output({ type: 'object', properties: { next: { $ref: '#' } } }),
      'hint',
      output({ type: 'object' }),
    ],
  ],
  'schema-strict': [
    [
      'a list of unknown things',
      property({ type: 'array' }),
      'error',
      property({ type: 'array', items: { type: 'string' } }),
    ],
    [
      'a tuple',
      property({ type: 'array', prefixItems: [{ type: 'string' }] }),
      'warning',
      property({ type: 'array', items: { type: 'string' }, maxItems: 2 }),
    ],
    [
      'several types',
      property({ type: ['string', 'null'] }),
      'warning',
      property({ anyOf: [{ type: 'string' }, { type: 'null' }] }),
    ],
    ['no type', property({}), 'hint', property({ const: 1 })],
    [
      'look-around',
      property({ type: 'string', pattern: '^(?!a)b' }),
      'warning',
      property({ type: 'string', pattern: '^(?:a|b)$' }),
    ],
    [
      'a back-reference in the output',
      output({ type: 'object', properties: { a: { type: 'string', pattern: '(a)\\1' } } }),
      'warning',
      output({ type: 'object', properties: { a: { type: 'string', pattern: '(a)1' } } }),
    ],
    [
      'an unknown format',
      property({ type: 'string', format: 'phone' }),
      'warning',
      property({ type: 'string', format: 'email' }),
    ],
    ['no choice', property({ enum: [] }), 'error', property({ enum: ['a'] })],
    ['a mixture', property({ enum: ['a', 1] }), 'warning', property({ enum: ['a', null] })],
    [
      'a default of another type',
      property({ type: 'integer', default: '10' }),
      'error',
      property({ type: 'integer', default: 10 }),
    ],
    [
      'a default that is no choice',
      property({ type: 'string', enum: ['a', 'b'], default: 'c' }),
      'error',
      property({ type: 'string', enum: ['a', 'b'], default: 'b' }),
    ],
    [
      'a required name that is not described',
      input({ required: ['query', 'limit'] }),
      'error',
      input({ if: { properties: { query: {} }, required: ['limit'] } }),
    ],
    [
      'a name with brackets',
      input({ properties: { 'filter[id]': { type: 'string', description: 'An id.' } }, required: [] }),
      'error',
      input({ properties: { 'filter.id': { type: 'string', description: 'An id.' } }, required: [] }),
    ],
    [
      'a name of 65 characters inside',
      property({ type: 'object', properties: { ['a'.repeat(65)]: { type: 'string' } } }),
      'warning',
      property({ type: 'object', properties: { ['a'.repeat(64)]: { type: 'string' } } }),
    ],
    ['6 levels', property(nested(5)), 'hint', property(nested(4))],
    ['11 levels', property(nested(10)), 'warning', property(nested(4))],
    [
      '101 properties',
      input({ properties: many(101), required: [] }),
      'warning',
      input({ properties: many(100), required: [] }),
    ],
  ],
  'additional-properties': [
    [
      'nothing said',
      { inputSchema: { type: 'object', properties: {} } },
      'hint',
      { inputSchema: { type: 'object', properties: {}, additionalProperties: { type: 'string' } } },
    ],
  ],
  'output-missing': [['none', output(undefined as never), 'hint', output({ type: 'object' })]],
  'header-secret': [
    [
      'a token in a header',
      input({ properties: { api_token: { type: 'string', 'x-mcp-header': 'Token' } } }),
      'warning',
      input({ properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }),
    ],
  ],
  'size-tool': [['over 1,500 tokens', says('word '.repeat(1_200)), 'warning', says('word '.repeat(1_000))]],
};

describe.each(Object.entries(cases))('%s', (rule, table) => {
  test.each(table)('finds %s, and not a similar case', (...[, hit, severity, miss]) => {
    const found = (change: Change) => lintTool(tool(change)).filter((finding) => finding.rule === rule);
    const [first, ...rest] = found(hit);
    expect(first).toMatchObject({ rule, severity, tool: tool(hit).name });
    expect(first!.message).toMatch(/^[A-Z].*\.$|^[A-Z].*\."$/);
    expect(rest.map((finding) => finding.severity)).not.toContain('error');
    expect(found(miss)).toEqual([]);
  });
});

const listCases: Readonly<
  Record<string, readonly (readonly [string, ListedTool[], Severity, ListedTool[]])[]>
> = {
  'name-similar': [
    ['the same name', [good, good], 'error', [good]],
    [
      'another spelling',
      [good, tool({ name: 'searchPages' })],
      'warning',
      [good, tool({ name: 'search_people' })],
    ],
    [
      'another order',
      [good, tool({ name: 'pages-search' })],
      'warning',
      [good, tool({ name: 'list_pages' })],
    ],
    ['another number', [good, tool({ name: 'search_page' })], 'hint', [good, tool({ name: 'get_page' })]],
  ],
  'description-repeated': [
    [
      'the same words',
      [tool({ name: 'a', ...says('Finds pages.') }), tool({ name: 'b', ...says('finds pages') })],
      'warning',
      [tool({ name: 'a', ...says('Finds pages.') }), tool({ name: 'b', ...says('Finds people.') })],
    ],
  ],
  'tool-count': [
    ['129 tools', several(129), 'warning', several(40)],
    ['41 tools', several(41), 'hint', several(40)],
  ],
  'size-total': [
    ['over 20,000 tokens', several(30, 'word '.repeat(600)), 'warning', several(20, 'word '.repeat(600))],
  ],
};

function several(count: number, description = ''): ListedTool[] {
  return Array.from({ length: count }, (_, at) => tool({ name: `find_${at}`, ...says(description) }));
}

describe.each(Object.entries(listCases))('%s', (rule, table) => {
  test.each(table)('finds %s, and not a similar case', (...[, hit, severity, miss]) => {
    const found = (tools: ListedTool[]) => {
      const report = lintTools(tools);
      return [...report.findings, ...report.tools.flatMap(({ findings }) => findings)].filter(
        (finding) => finding.rule === rule,
      );
    };
    expect(found(hit)).toMatchObject([{ rule, severity }]);
    expect(found(miss)).toEqual([]);
  });
});

test('every rule has a case here and a heading in docs/lint.md', () => {
  expect([...Object.keys(cases), ...Object.keys(listCases)].toSorted()).toEqual(ruleIds.toSorted());
  const page = readFileSync(new URL('../../docs/lint.md', import.meta.url), 'utf8');
  expect([...page.matchAll(/^### `(.+)`$/gm)].map(([, id]) => id)).toEqual(ruleIds);
});

test('a good tool has no findings, as a description, as a definition and as a class', () => {
  expect(lintTool(good)).toEqual([]);
  const { name, description, annotations } = good;
  const defined = defineTool(
    {
      name,
      description,
      annotations: { readOnlyHint: true, openWorldHint: false },
      input: z.strictObject({ query: z.string().describe('Text to look for.') }),
      output: z.object({ ids: z.array(z.string()) }),
    },
    () => ({ ids: [] }),
  );
  expect(lintTool(defined)).toEqual([]);
  class Search extends AbstractTool {
    constructor() {
      super(name, description, good.inputSchema, annotations);
    }
    execute(): unknown {
      return {};
    }
  }
  expect(lintTool(new Search()).map(({ rule }) => rule)).toEqual(['output-missing']);
});

test('C9: a name of 41 characters is a warning, because hosts add a prefix, and one of 65 is refused', () => {
  const found = (length: number) =>
    lintTool(tool({ name: `get_${'a'.repeat(length - 4)}` })).map(({ rule, severity }) => [rule, severity]);
  expect(found(40)).toEqual([]);
  expect(found(41)).toEqual([['name-length', 'warning']]);
  expect(found(64)).toEqual([['name-length', 'warning']]);
  expect(found(65)).toEqual([['name-length', 'error']]);
});

test('C9: a name with a dot is a warning, because model APIs do not accept it', () => {
  const found = (name: string) => lintTool(tool({ name })).map(({ rule, severity }) => [rule, severity]);
  expect(found('pages.search')).toEqual([['name-dots', 'warning']]);
  expect(found('pages_search')).toEqual([]);
});

test('a description shorter than a useful sentence is a warning, and a complete one is not (000-06)', () => {
  const rulesFor = (description: string) =>
    lintTool(tool(says(description)))
      .filter(({ rule }) => rule === 'description-length')
      .map(({ severity }) => severity);
  expect(rulesFor('')).toEqual(['error']);
  expect(rulesFor('Pages.')).toEqual(['warning']);
  expect(rulesFor('Searches pages by title or content.')).toEqual([]);
});

test('names with a verb are good; bare nouns, abbreviations and odd characters are not (000-26)', () => {
  const rulesFor = (name: string) =>
    lintTool(tool({ name, annotations: {} }))
      .map(({ rule }) => rule)
      .filter((rule) => rule.startsWith('name-'));
  for (const name of ['search_pages', 'create_task', 'send_message']) expect(rulesFor(name)).toEqual([]);
  expect(rulesFor('pages')).toEqual(['name-verb']);
  expect(rulesFor('task')).toEqual(['name-verb']);
  expect(rulesFor('msg')).toEqual(['name-verb', 'name-abbreviation']);
  expect(rulesFor('send message!')).toEqual(['name-characters']);
});

test('a description says what it does, what it returns and when to use it; two words are not enough (000-27)', () => {
  const rulesFor = (description: string) => lintTool(tool(says(description))).map(({ rule }) => rule);
  expect(
    rulesFor(
      'Search for Notion pages by title or content. Returns matching pages with their IDs, titles, and URLs. Use this to find specific documents.',
    ),
  ).toEqual([]);
  expect(rulesFor('Search pages')).toEqual(['description-length', 'description-returns', 'description-when']);
});

test('a rule can be left out, and totals are counted', () => {
  const pages = tool({ name: 'pages' });
  expect(lintTool(pages, { ignore: ['name-verb'] })).toEqual([]);
  const report = lintTools([good, pages], { ignore: ['description-repeated'] });
  expect(report.counts).toEqual({ error: 0, warning: 1, hint: 0 });
  expect(report.tokens).toBe(report.tools[0]!.tokens + report.tools[1]!.tokens);
  expect(report.tools[0]).toEqual({
    name: 'search_pages',
    tokens: Math.ceil(JSON.stringify(good).length / 4),
    findings: [],
  });
  const twice = lintTools([good, good], { ignore: ['description-repeated'] });
  expect(twice.counts.error).toBe(1);
});

test('any list of another server is linted without an exception', () => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 3 }),
      fc.jsonValue(),
      (tools, odd) => {
        const listed = tools.map((one) => ({
          name: odd,
          description: odd,
          inputSchema: {
            type: odd,
            properties: odd,
            required: odd,
            enum: odd,
            items: odd,
            anyOf: odd,
            pattern: odd,
          },
          outputSchema: odd,
          annotations: odd,
          ...one,
        }));
        const { counts, tools: linted } = lintTools(listed as unknown as ListedTool[]);
        expect(linted).toHaveLength(tools.length);
        expect(counts.error + counts.warning + counts.hint).toBeGreaterThanOrEqual(0);
      },
    ),
    { numRuns: propertyRuns() },
  );
});
