import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { content, defineTool, type JsonSchema } from '../../src/index.ts';
import { describeMatrix, type Cell } from './matrix.ts';

const promising = (output: JsonSchema, value: unknown) =>
  defineTool({ name: 'report', description: 'Reports.', output }, () => value as never);

// One for all, because each compiles the schema of schemas anew.
const ajv = new Ajv2020({ strict: false });

const hasStructured = ({ structured }: Cell): boolean => structured !== 'none';
const tree = { name: 'root', children: [{ name: 'leaf', children: [] }] };

describeMatrix(({ structured, connect }) => {
  const onWire = (value: unknown): unknown => (structured === 'any' ? value : { result: value });

  test.each([
    ['a list', { type: 'array', items: { type: 'integer' } }, [1, 2, 3]],
    ['text', { type: 'string' }, 'thirty'],
    ['a number', { type: 'number' }, 0],
    ['false', { type: 'boolean' }, false],
    ['null', { type: ['string', 'null'] }, null],
    ['one of several objects', { anyOf: [{ type: 'object' }, { type: 'null' }] }, { a: 1 }],
  ])(
    '%s is structured output unchanged, or inside an object for revisions that only have objects',
    async (_what, schema, value) => {
      const peer = await connect({ tools: [promising(schema, value)] });
      const result = await peer.call('report');
      expect(result).toMatchObject({ structuredContent: onWire(value), isError: false });
      expect(result.content).toHaveLength(1);
      expect(result.content[0]!.text).toBe(
        typeof value === 'string' ? value : JSON.stringify(value, null, 2),
      );
    },
  );

  test('an object is structured output unchanged, with its text beside it (002-10)', async () => {
    const output = z.object({ rows: z.array(z.object({ id: z.number() })), rowCount: z.number() });
    const query = defineTool({ name: 'query', description: 'Queries.', output }, () => ({
      rows: [{ id: 7 }],
      rowCount: 1,
    }));
    const peer = await connect({ tools: [query] });
    const result = await peer.call('query');
    expect(result.structuredContent).toEqual({ rows: [{ id: 7 }], rowCount: 1 });
    expect(JSON.parse(result.content[0]!.text)).toEqual(result.structuredContent);
  });

  test.each<[string, JsonSchema, unknown]>([
    ['a list', { type: 'array', items: { type: 'integer' } }, [1, 2]],
    [
      'a list of $defs',
      {
        type: 'array',
        items: { $ref: '#/$defs/point' },
        $defs: { point: { type: 'object', required: ['x'] } },
      },
      [{ x: 1 }],
    ],
    [
      'a list of definitions',
      { type: 'array', items: { $ref: '#/definitions/n' }, definitions: { n: { type: 'number' } } },
      [1, 2],
    ],
    ['nested lists', { type: 'array', items: { anyOf: [{ type: 'number' }, { $ref: '#' }] } }, [1, [2, [3]]]],
    [
      'a schema that names its dialect',
      { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'array', items: { type: 'number' } },
      [1],
    ],
    [
      'a tree',
      {
        type: 'object',
        properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
        required: ['name', 'children'],
      },
      tree,
    ],
  ])('the listed output schema fits the structured output: %s (002-10)', async (_what, schema, value) => {
    const peer = await connect({ tools: [promising(schema, value)] });
    const [tool] = (await peer.list()).tools;
    const validate = ajv.compile(tool!['outputSchema'] as JsonSchema);
    const { structuredContent } = await peer.call('report');
    expect(validate(structuredContent)).toBe(true);
    expect(validate(onWire({ unexpected: true }))).toBe(false);
    if (structured === 'objects') expect(tool!['outputSchema']).toMatchObject({ type: 'object' });
  });

  test.each<[string, unknown]>([
    ['a list', [1, 2]],
    ['a number', 5],
  ])(
    '%s without an output schema is structured output only where the revision allows it',
    async (_what, value) => {
      const free = defineTool({ name: 'free', description: 'Promises nothing.' }, () => value);
      const peer = await connect({ tools: [free] });
      const result = await peer.call('free');
      expect(result.structuredContent).toEqual(structured === 'any' ? value : undefined);
      expect(JSON.parse(result.content[0]!.text)).toEqual(value);
    },
  );

  test('structured output that a handler returns beside its own blocks is checked and kept', async () => {
    const output = z.object({ n: z.number() });
    const both = defineTool({ name: 'both', description: 'Writes both.', output }, () => ({
      content: [content.text('one')],
      structuredContent: { n: 1 },
    }));
    const peer = await connect({ tools: [both] });
    expect(await peer.call('both')).toMatchObject({
      content: [{ type: 'text', text: 'one' }],
      structuredContent: { n: 1 },
    });
  });
}, hasStructured);

describeMatrix(({ structured, connect }) => {
  test('a failure has no structured output, whatever the output schema says', async () => {
    const output = { type: 'object', properties: { rows: { type: 'array' } }, required: ['rows'] };
    const failures = [
      { error: 'Database query failed' },
      { success: false, error: 'no' },
      { content: [content.text('no')], structuredContent: { rows: [] }, isError: true },
    ];
    for (const failure of failures) {
      const peer = await connect({ tools: [promising(output, failure)] });
      const result = await peer.call('report');
      expect(result.isError).toBe(true);
      expect(result).not.toHaveProperty('structuredContent');
    }
  });

  test('output that breaks the output schema is a failure of the tool; only the log has the details', async () => {
    const output = { type: 'object', properties: { rows: { type: 'array' } }, required: ['rows'] };
    const peer = await connect({ tools: [promising(output, { row: 'secret row' })] });
    const result = await peer.call('report');
    expect(result).toMatchObject({
      content: [
        { type: 'text', text: 'report returned something other than it promises; it needs to be repaired.' },
      ],
      isError: true,
    });
    expect(peer.wire.heard.join('')).not.toContain('secret row');
    expect(peer.logged).toMatchObject([
      {
        level: 'error',
        facts: { target: 'report', cause: { message: expect.stringContaining('rows: is required') } },
      },
    ]);
  });

  test('a client whose revision has no structured output gets the data as text, and no output schema is listed', async () => {
    const output = z.object({ n: z.number() });
    const count = defineTool({ name: 'count', description: 'Counts.', output }, () => ({ n: 1 }));
    const peer = await connect({ tools: [count] });
    const [tool] = (await peer.list()).tools;
    const result = await peer.call('count');
    expect(JSON.parse(result.content[0]!.text)).toEqual({ n: 1 });
    expect('outputSchema' in tool!).toBe(structured !== 'none');
    expect('structuredContent' in result).toBe(structured !== 'none');
  });
});
