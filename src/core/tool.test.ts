import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { localCaller } from './caller.ts';
import { ToolRegistry } from './registry.ts';
import { withStages } from './stage.ts';
import {
  changeTool,
  checkToolName,
  defineTool,
  describeTool,
  displayName,
  fromListed,
  isDeclaredReadOnly,
  type ListedTool,
  type Tool,
  type ToolAnnotations,
  type ToolDefinition,
} from './tool.ts';

const described = { name: 'search_pages', description: 'Search for pages by title or content' };

test('a tool is listed as exactly the document that describes it (000-04)', () => {
  const tool = defineTool(
    {
      ...described,
      input: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'Search query' },
          limit: { type: 'integer', description: 'Maximum results', default: 10 },
        },
        required: ['query'],
      },
    },
    () => ({ results: [] }),
  );
  expect(JSON.stringify(describeTool(tool as Tool), null, 2)).toBe(`{
  "name": "search_pages",
  "description": "Search for pages by title or content",
  "inputSchema": {
    "type": "object",
    "properties": {
      "query": {
        "type": "string",
        "description": "Search query"
      },
      "limit": {
        "type": "integer",
        "description": "Maximum results",
        "default": 10
      }
    },
    "required": [
      "query"
    ]
  }
}`);
});

test('a tool with a Zod schema is listed as the same document, with nothing added (000-04)', () => {
  const input = z.object({
    query: z.string().describe('Search query'),
    limit: z.int().describe('Maximum results').default(10),
  });
  const tool = defineTool({ ...described, input }, () => ({ results: [] }));
  expect(JSON.stringify(describeTool(tool as Tool).inputSchema)).toBe(
    JSON.stringify({
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Search query' },
        limit: { type: 'integer', description: 'Maximum results', default: 10 },
      },
      required: ['query'],
    }),
  );
});

test('limits that an author wrote are kept, anywhere in a Zod schema (000-04)', () => {
  const count = z.int().min(1).max(99);
  const input = z.object({
    list: z.array(count),
    either: z.union([count, z.string()]),
    by: z.record(z.string(), count),
  });
  const { inputSchema } = defineTool({ ...described, input }, () => ({}));
  const limited = { type: 'integer', minimum: 1, maximum: 99 };
  expect(inputSchema.properties).toMatchObject({
    list: { items: limited },
    either: { anyOf: [limited, { type: 'string' }] },
    by: { additionalProperties: limited },
  });
});

test('delete_file is listed with all five hints (004-13)', () => {
  const tool = defineTool(
    {
      name: 'delete_file',
      description: 'Deletes a file for good.',
      input: { properties: { path: { type: 'string' } }, required: ['path'] },
      annotations: {
        title: 'Delete File',
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: false,
      },
    },
    () => undefined,
  );
  expect(JSON.parse(JSON.stringify(describeTool(tool as Tool)))).toEqual({
    name: 'delete_file',
    description: 'Deletes a file for good.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    annotations: {
      title: 'Delete File',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    },
  });
});

test('annotations have a display title and four hints (004-12)', () => {
  expectTypeOf<ToolAnnotations['title']>().toEqualTypeOf<string | undefined>();
  expectTypeOf<ToolAnnotations['readOnlyHint']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<ToolAnnotations['destructiveHint']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<ToolAnnotations['idempotentHint']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<ToolAnnotations['openWorldHint']>().toEqualTypeOf<boolean | undefined>();
  expectTypeOf<{ readOnlyHint: 'yes' }>().not.toExtend<ToolAnnotations>();
  expect(displayName({ name: 'delete_file', annotations: { title: 'Delete File' } })).toBe('Delete File');
});

test('a tool has a name, a description, an input schema, a handler and maybe annotations (001-01)', () => {
  const handler = (): string => 'done';
  const annotations = { readOnlyHint: true };
  const input = { type: 'object', properties: {} } as const;
  expect(defineTool({ ...described, input, annotations }, handler)).toEqual({
    ...described,
    inputSchema: input,
    annotations,
    handler,
  });
  expect(defineTool({ ...described, input }, handler)).not.toHaveProperty('annotations');
});

test('a tool needs a name and an input schema; title, output schema and annotations may be missing (004-02)', () => {
  expectTypeOf<Omit<Tool, 'inputSchema'>>().not.toExtend<Tool>();
  expectTypeOf<Omit<Tool, 'title' | 'outputSchema' | 'annotations'>>().toExtend<Tool>();
  const tool = defineTool(described, () => undefined);
  expect(Object.keys(describeTool(tool as Tool))).toEqual(['name', 'description', 'inputSchema']);
});

test('a definition without a description does not compile (000-06)', () => {
  expectTypeOf<{ name: string }>().not.toExtend<ToolDefinition>();
  expectTypeOf<{ name: string; description: string }>().toExtend<ToolDefinition>();
});

test('the input schema is always there, with an object at its root (000-07)', () => {
  const tool = defineTool(described, () => undefined);
  expect(describeTool(tool as Tool).inputSchema).toEqual({
    type: 'object',
    properties: {},
    additionalProperties: false,
  });
  expectTypeOf<ListedTool['inputSchema']['type']>().toEqualTypeOf<'object'>();
});

test('a tool without parameters lists an empty object of properties (003-06)', () => {
  const tools = [
    defineTool(described, () => undefined),
    defineTool({ ...described, input: {} }, () => undefined),
    defineTool({ ...described, input: z.object({}) }, () => undefined),
  ];
  for (const tool of tools) {
    expect(JSON.stringify(describeTool(tool as Tool).inputSchema)).toContain('"properties":{}');
  }
});

test('a title is listed if there is one (002-08)', () => {
  const titled = defineTool({ ...described, title: 'Find pages' }, () => undefined);
  const untitled = defineTool(described, () => undefined);
  expect(describeTool(titled as Tool)).toHaveProperty('title', 'Find pages');
  expect(describeTool(untitled as Tool)).not.toHaveProperty('title');
});

test('people see the title, else the title in the annotations, else the name (000-08)', () => {
  const annotations = { title: 'From annotations' };
  expect(displayName({ name: 'search', title: 'Search', annotations })).toBe('Search');
  expect(displayName({ name: 'search', annotations })).toBe('From annotations');
  expect(displayName({ name: 'search' })).toBe('search');
});

test('an output schema is listed as JSON Schema (002-10)', () => {
  const tool = defineTool({ ...described, output: z.object({ count: z.number() }) }, () => ({ count: 1 }));
  expect(describeTool(tool as Tool).outputSchema).toEqual({
    type: 'object',
    properties: { count: { type: 'number' } },
    required: ['count'],
    additionalProperties: false,
  });
});

test('annotations that describe behaviour are listed, and empty annotations are not (002-11)', () => {
  const careful = defineTool({ ...described, annotations: { readOnlyHint: true } }, () => undefined);
  const silent = defineTool({ ...described, annotations: {} }, () => undefined);
  expect(describeTool(careful as Tool).annotations).toEqual({ readOnlyHint: true });
  expect(describeTool(silent as Tool)).not.toHaveProperty('annotations');
});

test('audience and priority in the annotations are passed on (000-09)', () => {
  const annotations = { audience: ['user'], priority: 0.5, readOnlyHint: true };
  const tool = defineTool({ ...described, annotations }, () => undefined);
  expect(describeTool(tool as Tool).annotations).toEqual({
    audience: ['user'],
    priority: 0.5,
    readOnlyHint: true,
  });
});

test('annotations are open-ended: unknown keys are kept (003-02)', () => {
  const annotations: ToolAnnotations = { 'acme/cost': 3, reviewHint: { by: 'legal' } };
  const tool = defineTool({ ...described, annotations }, () => undefined);
  expect(describeTool(tool as Tool).annotations).toEqual({ 'acme/cost': 3, reviewHint: { by: 'legal' } });
});

test('icons and metadata are listed, and no other members of the object', () => {
  const tool = {
    ...described,
    inputSchema: { type: 'object', properties: {} } as const,
    icons: [{ src: 'https://example.com/icon.svg', mimeType: 'image/svg+xml' }],
    _meta: { 'acme/team': 'search' },
    apiKey: 'secret',
    handler: () => undefined,
  };
  expect(describeTool(tool)).toEqual({
    ...described,
    inputSchema: tool.inputSchema,
    icons: tool.icons,
    _meta: tool._meta,
  });
});

test("fields that another server lists are kept, and never replace the tool's own", () => {
  const listed = {
    ...described,
    inputSchema: { type: 'object', properties: {} } as const,
    _meta: { 'acme/team': 'search' },
    execution: { taskSupport: 'optional' },
    cache: 'a word of its own',
  };
  const tool = fromListed(listed, () => undefined);
  expect(tool.cache).toBeUndefined();
  expect(describeTool(tool)).toEqual(listed);
  expect(describeTool(changeTool(tool, { description: 'Other.' }))).toEqual({
    ...listed,
    description: 'Other.',
  });
  const bold = defineTool({ ...described, extraFields: { name: 'other', execution: {} } }, () => undefined);
  expect(describeTool(bold as Tool)).toMatchObject({ name: described.name, execution: {} });
});

test('assumed hints stay marked as assumed, whatever a stage makes of the tool', () => {
  const registry = new ToolRegistry({ annotationDefaults: 'saas' }).registerTool(
    defineTool(described, () => undefined),
  );
  const rebuild = ({ name, description, inputSchema, annotations, handler }: Tool): Tool => ({
    name,
    description,
    inputSchema,
    annotations: annotations!,
    handler,
  });
  const source = withStages(registry, [{ name: 'rebuild', expose: rebuild }]);
  const shown = source.find(described.name, localCaller) as Tool;
  expect(shown.annotations?.readOnlyHint).toBe(true);
  expect(isDeclaredReadOnly(shown)).toBe(false);
});

test('a defined tool cannot be changed', () => {
  const tool = defineTool(described, () => undefined) as Tool;
  expect(() => Object.assign(tool, { name: 'other' })).toThrow(TypeError);
});

test.each([
  ['input', { ...described, input: { properties: { limit: { type: 'int' } } } }],
  ['output', { ...described, output: { properties: { limit: { type: 'int' } } } }],
])('a broken %s schema is refused with the name of the tool and the place', (place, definition) => {
  expect(() => defineTool(definition as ToolDefinition, () => undefined)).toThrow(
    `Tool "search_pages": The schema at ${place}.properties.limit.type must be one of`,
  );
});

test.each<[problem: string, name: unknown, says: string]>([
  ['nothing', '', 'A tool needs a name.'],
  ['no text', 7, 'A tool needs a name.'],
  ['a space', 'get page', '"get page" may only hold letters, digits, "_", "-" and "."'],
  ['a slash', 'get/it', 'may only hold letters'],
  ['a line break at the end', 'get_it\n', 'may only hold letters'],
  ['a letter that is not ASCII', 'größe', 'may only hold letters'],
  ['one character too many', 'abcdefghi', 'has 9 characters; the limit is 8'],
])('a name with %s is refused', (_problem, name, says) => {
  expect(() => checkToolName(name, 8)).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(says) }),
  );
});

test.each(['a', 'get-page', 'Get_it.2'])('the name %s is allowed', (name) => {
  expect(() => checkToolName(name, 8)).not.toThrow();
});
