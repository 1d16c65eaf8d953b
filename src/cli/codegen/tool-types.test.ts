import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import Database from 'libsql';
import { parseSync } from 'oxc-parser';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import { defineTool, describeTool, type ListedTool, type Tool } from '../../core/tool.ts';
import { readySection } from '../../gateway/settings/tools.ts';
import { lintTools } from '../../lint/lint-tools.ts';
import { collectTools } from '../collect-tools.ts';
import { toolTypes } from './tool-types.ts';

const tool = (name: string, input: object, output?: unknown): ListedTool =>
  ({
    name,
    description: `Does ${name}.`,
    inputSchema: input,
    ...(output !== undefined && { outputSchema: output }),
  }) as unknown as ListedTool;

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

test('a tool becomes an interface for its arguments, a type for its result, and an entry in the map', () => {
  const forecast = defineTool(
    {
      name: 'get_forecast',
      description: 'Gets the forecast. Returns degrees. Use it before a picnic.',
      input: z.strictObject({
        city: z.string().describe('Name of the city.'),
        days: z.number().int().default(3).describe('How far ahead.'),
        units: z.enum(['metric', 'imperial']).optional(),
      }),
      output: z.object({ degrees: z.array(z.number()) }),
    },
    () => ({ degrees: [] }),
  );
  expect(
    toolTypes([describeTool(forecast as Tool), tool('wait', object({}, { additionalProperties: false }))]),
  ).toBe(
    `/** What get_forecast takes. */
export interface GetForecastInput {
  /** Name of the city. */
  city: string;
  /**
   * How far ahead.
   * @default 3
   */
  days?: number;
  units?: "metric" | "imperial";
}

/** What get_forecast returns. */
export interface GetForecastOutput {
  degrees: number[];
}

/** What wait takes. */
export interface WaitInput {
  [key: string]: never;
}

/** The tools by name, with what each takes and returns. */
export interface Tools {
  /** Gets the forecast. Returns degrees. Use it before a picnic. */
  get_forecast: { input: GetForecastInput; output: GetForecastOutput };
  /** Does wait. */
  wait: { input: WaitInput; output: unknown };
}
`,
  );
});

test('the same tools give the same text, in any order', () => {
  const tools = [tool('b', object({})), tool('a', object({})), tool('C', object({}))];
  expect(toolTypes(tools.toReversed())).toBe(toolTypes(tools));
});

const tree = { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/tree' } } } };
const hard: readonly ListedTool[] = [
  tool('tuples', {
    ...object({
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      open: { type: 'array', prefixItems: [{ type: 'string' }], minItems: 0 },
      old: { type: 'array', items: [{ type: 'string' }], additionalItems: { type: 'number' } },
      none: { type: 'array', items: false },
      mixed: { type: 'array', items: { type: ['string', 'null'] } },
    }),
  }),
  tool('choices', {
    ...object(
      {
        level: { enum: ['low', 'high', 3, null, true] },
        fixed: { const: { a: [1, 'x'], 'b-c': {} } },
        either: { anyOf: [{ type: 'string' }, object({ id: { type: 'integer' } }, { required: ['id'] })] },
        nullable: { type: 'string', nullable: true },
        never: false,
        anything: true,
      },
      { required: ['level', 'either', 'unlisted'] },
    ),
  }),
  tool('parts', {
    allOf: [object({ a: { type: 'string' } }), { required: ['a'] }, { $ref: '#/$defs/more' }],
    $defs: { more: object({ b: { type: 'number' } }) },
  }),
  tool('records', object({}, { additionalProperties: { type: 'number' } }), {
    ...object(
      { total: { type: 'number' } },
      { additionalProperties: { type: 'string' }, required: ['total'] },
    ),
  }),
  tool('patterns', {
    type: 'object',
    patternProperties: { '^x-': { type: 'string' } },
    additionalProperties: false,
  }),
  tool('forest', object({ root: { $ref: '#/$defs/tree' }, self: { $ref: '#' } }), {
    $ref: '#/$defs/list',
    $defs: {
      list: { type: 'array', items: { anyOf: [{ $ref: '#/$defs/list' }, { $ref: '#/$defs/tree' }] } },
      tree: { $anchor: 'tree', ...tree },
      byName: { type: 'object', additionalProperties: { $ref: '#tree' } },
    },
  }),
  tool(
    'circles',
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } } },
    {
      oneOf: [{ $ref: '#' }, { $ref: 'https://example.com/x' }, { $ref: '#/nowhere' }, { type: 'string' }],
    },
  ),
  tool('comments', {
    ...object({
      end: { type: 'string', description: 'Ends */ export const broken = 1; /* here' },
      order: { type: 'string', description: '@ts-expect-error' },
      lines: { type: 'string', description: 'One.\r\n\r\nTwo.\u2028Three.', deprecated: true },
      unseen: { type: 'string', description: 'A \u202e trick \u0000.', default: '*/' },
    }),
  }),
  tool('keys', {
    ...object({
      'a-b': { type: 'string' },
      '1': { type: 'string' },
      '': { type: 'string' },
      'quo"te\\': { type: 'string' },
      new: { type: 'string' },
      constructor: { type: 'string' },
      get: { type: 'string' },
      readonly: { type: 'string' },
      ['__proto__']: { type: 'string' },
      '\u2028': { enum: ['\u2028', '</script>', '`${x}`'] },
    }),
  }),
  tool(
    'get-page',
    object(
      { p: { $ref: '#/$defs/x-y' }, q: { $ref: '#/$defs/x_y' } },
      {
        $defs: { 'x-y': { type: 'string' }, x_y: { type: 'number' } },
      },
    ),
  ),
  tool('get_page', object({}), object({})),
  tool('getPage', object({ i: { $ref: '#/$defs/input' } }, { $defs: { input: { type: 'null' } } })),
  tool('get_page_input', object({})),
  tool('3d', object({})),
  tool('tools', object({})),
  tool('...', true as unknown as object, false),
];

const use = `
import type * as T from './tools.ts';
const forest: T.ForestOutput = [[], { kids: [{ kids: [] }] }];
const parts: T.PartsInput = { a: 'x', b: 1 };
const pair: T.TuplesInput = { pair: ['a', 1], open: [], old: ['a', 1, 2], none: [], mixed: ['a', null] };
const choices: T.ChoicesInput = { level: null, either: { id: 1 }, unlisted: 0, nullable: null };
const records: T.RecordsInput = { a: 1 };
const sums: T.RecordsOutput = { total: 1, more: 'x' };
const dashed: T.KeysInput['a-b'] = 'x';
const both: [T.GetPageInput, T.GetPage2Input, T.GetPage3Input] = [{ p: 'x', q: 1 }, { i: null }, {}];
const byName: T.Tools['get-page']['input'] = both[0];
// @ts-expect-error a is required
const withoutA: T.PartsInput = { b: 1 };
// @ts-expect-error a pair has two parts
const single: T.TuplesInput = { pair: ['a'] };
// @ts-expect-error not a level
const middle: T.ChoicesInput = { level: 'middle', either: '', unlisted: 0 };
// @ts-expect-error numbers only
const words: T.RecordsInput = { a: 'x' };
// @ts-expect-error kids are trees
const kids: T.ForestOutput = [{ kids: ['x'] }];
export { forest, parts, pair, choices, records, sums, dashed, byName, withoutA, single, middle, words, kids };
`;

test('complicated schemas become TypeScript that compiles and has the same meaning', () => {
  expect(complaintsAbout({ 'tools.ts': toolTypes(hard), 'use.ts': use })).toBe('');
});

test('control: the check above notices a wrong type', () => {
  const wrong = 'export type A = A | string;\nexport interface B { a: string; [key: string]: number }\n';
  expect(complaintsAbout({ 'tools.ts': wrong })).toMatch(/TS2456[^]*TS2411/);
});

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('a', 'b', '*/', '@ts-ignore'),
);
const reference = fc.oneof(
  fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/properties/a', '#x', 'other'),
  text,
);
const { schema } = fc.letrec<{ schema: unknown; node: unknown }>((tie) => {
  const schemas = fc.array(tie('schema'), { maxLength: 3 });
  const map = fc.dictionary(text, tie('schema'), { maxKeys: 3 });
  const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object', 'odd');
  const some = (keywords: Record<string, fc.Arbitrary<unknown>>) => fc.record(keywords, { requiredKeys: [] });
  const about = { description: text, deprecated: fc.boolean(), default: fc.jsonValue({ maxDepth: 1 }) };
  const objects = {
    ...about,
    type: fc.constant('object'),
    properties: map,
    required: fc.array(text, { maxLength: 2 }),
    additionalProperties: tie('schema'),
    patternProperties: map,
  };
  const arrays = {
    type: fc.constant('array'),
    items: fc.oneof(tie('schema'), schemas),
    prefixItems: schemas,
    minItems: fc.nat({ max: 3 }),
  };
  const composed = {
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    $ref: reference,
    $anchor: fc.constant('x'),
    $defs: some({ a: tie('schema'), b: tie('schema') }),
    nullable: fc.boolean(),
  };
  const values = {
    type: fc.oneof(type, fc.array(type, { maxLength: 3 })),
    const: fc.jsonValue({ maxDepth: 2 }),
    enum: fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 3 }),
  };
  const node = fc.oneof(
    fc.record({ type }),
    some(objects),
    some(arrays),
    some(composed),
    some({ ...objects, ...composed }),
    some({ ...objects, ...arrays, ...composed, ...values }),
  );
  return { schema: fc.oneof({ maxDepth: 4 }, fc.boolean(), tie('node')), node };
});
const anyTools = fc.uniqueArray(
  fc.record(
    { name: text, description: text, inputSchema: schema, outputSchema: schema },
    { requiredKeys: ['name', 'inputSchema'] },
  ),
  { maxLength: 3, selector: ({ name }) => name },
) as unknown as fc.Arbitrary<ListedTool[]>;

test('for any schemas, the text parses as types and nothing else', () => {
  fc.assert(
    fc.property(anyTools, (tools) => {
      const { errors, program } = parseSync('tools.ts', toolTypes(tools));
      expect(errors).toEqual([]);
      const kinds = program.body.map((node) =>
        node.type === 'ExportNamedDeclaration' ? node.declaration?.type : node.type,
      );
      for (const kind of kinds) expect(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration']).toContain(kind);
    }),
    { numRuns: propertyRuns() },
  );
});

test('for any schemas, the types compile', () => {
  const samples = fc.sample(anyTools, { numRuns: propertyRuns(300, 100), seed: 7 });
  const files = samples.map((tools, index) => [`tools-${index}.ts`, toolTypes(tools)] as const);
  expect(complaintsAbout(Object.fromEntries(files))).toBe('');
});

const command = { file: '/bin/date', description: 'Tells the date. Returns it as text. Use it for today.' };
const ready: Readonly<Record<string, object>> = {
  ping: {},
  server_info: {},
  get_time: {},
  calculate: {},
  transform_data: {},
  get_weather: { apiKey: 'key' },
  notion: { token: 'token' },
  file_operations: { root: './data', write: true },
  run_command: { folder: '.', commands: { date: command } },
  fetch_api_data: { hosts: ['api.example.com'], methods: ['GET', 'POST'] },
  query_database: { url: 'sqlite:./shop.db', tables: ['orders'] },
  query_sql: { url: 'sqlite:./shop.db', tables: ['orders'] },
  list_tables: {},
};

// What the others are set to is all they can do; these can do less.
const lessReady: typeof ready = {
  ...ready,
  file_operations: { root: './data' },
  fetch_api_data: { hosts: ['api.example.com'] },
};

// Schemas that are given.
const accepted = [
  'ping additional-properties inputSchema',
  'ping output-missing',
  'server_info additional-properties inputSchema',
  'server_info output-missing',
];

test.each([
  ['all they can do', ready],
  ['less', lessReady],
])(
  'all ready-made tools, configured to do %s, have only known lint findings, and their types compile',
  async (_what, options) => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-ready-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'data'));
    const database = new Database(join(folder, 'shop.db'));
    database.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL)');
    database.close();
    expect(Object.keys(options)).toEqual(Object.keys(readySection.shape));
    const file = join(folder, 'toolcrib.yaml');
    // JSON is YAML, too.
    writeFileSync(file, JSON.stringify({ tools: { ready: options } }));
    const { tools, problems } = await collectTools([file]);
    expect(problems).toEqual([]);
    expect(tools.length).toBeGreaterThanOrEqual(Object.keys(options).length);
    const report = lintTools(tools);
    expect(report.findings).toEqual([]);
    // What lint --strict asks for.
    expect([report.counts.error, report.counts.warning]).toEqual([0, 0]);
    const found = report.tools.flatMap(({ findings }) => findings);
    expect(found.map(({ tool: name, rule, path }) => [name, rule, path ?? []].flat().join(' '))).toEqual(
      accepted,
    );
    expect(complaintsAbout({ 'tools.ts': toolTypes(tools) })).toBe('');
  },
);

function complaintsAbout(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const settings = {
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      types: [],
      strict: true,
      noEmit: true,
      exactOptionalPropertyTypes: true,
      allowImportingTsExtensions: true,
    },
    include: ['*.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const tsc = join(import.meta.dirname, '../../../node_modules/.bin/tsc');
  try {
    execFileSync(tsc, ['-p', folder], { encoding: 'utf8', stdio: 'pipe', timeout: 120_000 });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
