import { describe, expect, test } from 'vitest';
import { checkSchema } from '../../schema/check.ts';
import { definePrompt } from '../../core/prompts/prompt.ts';
import { defineResource, defineResourceTemplate } from '../../core/resources/resource.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { validatorOf } from '../../schema/validator.ts';
import { encodePrompt, encodeResource, encodeTemplate, encodeTool } from './definition.ts';
import type { Features } from '../revisions/revision.ts';
import { revisionOf } from '../revisions/revisions.ts';

const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
type Version = (typeof versions)[number];

const icons = [{ src: 'https://example.com/i.png' }];
const shown = { title: 'Title', icons, _meta: { 'example.com/a': 1 } };
const weather = defineTool(
  {
    name: 'weather',
    description: 'Tells the weather.',
    ...shown,
    annotations: { readOnlyHint: true },
    requires: ['elicitation'],
    input: {
      type: 'object',
      properties: {
        city: { type: 'string', 'x-mcp-header': 'City' },
        at: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' }, any: true } },
      },
      required: ['city'],
    },
    output: { type: 'object', properties: { degrees: { type: 'number' } } },
  },
  () => ({ degrees: 7 }),
) as Tool;

/** From which revision on each field of a tool is listed. */
const since: Readonly<Record<string, Version>> = {
  name: '2024-11-05',
  description: '2024-11-05',
  inputSchema: '2024-11-05',
  annotations: '2025-03-26',
  title: '2025-06-18',
  outputSchema: '2025-06-18',
  _meta: '2025-06-18',
  icons: '2025-11-25',
};

describe.each(versions)('on %s', (version) => {
  const features = featuresOf(version);

  test.each(Object.entries(since))('the field "%s" of a tool is listed from %s on', (field, first) => {
    expect(Object.hasOwn(encodeTool(weather, features), field)).toBe(version >= first);
  });

  test('a tool is listed with no other fields', () => {
    for (const field of Object.keys(encodeTool(weather, features))) expect(since).toHaveProperty([field]);
  });

  test('x-mcp-header is listed only for clients that know it, and the rest of the schema is unchanged', () => {
    const { inputSchema } = encodeTool(weather, features);
    const written = JSON.stringify(weather.inputSchema);
    const plain = written.replaceAll(/,"x-mcp-header":"\w+"/g, '');
    expect(JSON.stringify(inputSchema)).toBe(version === '2026-07-28' ? written : plain);
  });

  test('resources, templates and prompts have titles, icons and metadata in the same revisions as tools', () => {
    const resource = defineResource({ uri: 'x:a', name: 'a', mimeType: 'text/plain', ...shown }, () => '');
    const template = defineResourceTemplate({ uriTemplate: 'x:{a}', name: 'a', ...shown }, () => '');
    const prompt = definePrompt(
      { name: 'a', ...shown, arguments: { b: { title: 'B', required: true } } },
      () => '',
    );
    const fields = {
      ...(version >= '2025-06-18' && { title: 'Title', _meta: shown._meta }),
      ...(version >= '2025-11-25' && { icons }),
    };
    expect(encodeResource(resource, features)).toEqual({
      uri: 'x:a',
      name: 'a',
      mimeType: 'text/plain',
      ...fields,
    });
    expect(encodeTemplate(template, features)).toEqual({ uriTemplate: 'x:{a}', name: 'a', ...fields });
    expect(encodePrompt(prompt, features)).toEqual({
      name: 'a',
      ...fields,
      arguments: [{ name: 'b', required: true, ...(version >= '2025-06-18' && { title: 'B' }) }],
    });
  });
});

test('a property may have the name x-mcp-header', () => {
  const properties = { 'x-mcp-header': { type: 'string' } };
  const tool = withSchemas({ inputSchema: { type: 'object', properties } });
  expect(encodeTool(tool, featuresOf('2025-06-18'))['inputSchema']).toEqual({ type: 'object', properties });
});

describe.each(['2025-06-18', '2025-11-25'] as const)('output that is not an object, on %s', (version) => {
  const listed = (outputSchema: JsonSchema): JsonSchema =>
    encodeTool(withSchemas({ outputSchema }), featuresOf(version))['outputSchema'] as JsonSchema;

  test('an output schema that is not an object is listed as the one member of an object', () => {
    expect(listed({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'array' })).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { result: { type: 'array' } },
      required: ['result'],
    });
  });

  test('the references in a wrapped output schema still work', () => {
    const tree = {
      type: 'array',
      items: { anyOf: [{ $ref: '#' }, { $ref: '#/$defs/leaf' }, { $ref: '#named' }] },
      $defs: { leaf: { type: 'string' }, other: { $anchor: 'named', type: 'null' } },
    };
    const wrapped = listed(tree);
    expect(() => checkSchema(wrapped, 'output')).not.toThrow();
    const check = validatorOf(wrapped);
    expect(check({ result: ['a', null, [['b']]] })).toHaveProperty('value');
    expect(check({ result: ['a', [[7]]] })).toHaveProperty('issues');
    expect(check(['a'])).toHaveProperty('issues');
  });

  test('an output schema that is an object is listed unchanged', () => {
    const schema = { type: 'object', properties: { self: { $ref: '#' } } };
    expect(listed(schema)).toBe(schema);
  });
});

test('an output schema of any type is listed unchanged on 2026-07-28', () => {
  const outputSchema = { type: 'array', items: { $ref: '#' } };
  expect(encodeTool(withSchemas({ outputSchema }), featuresOf('2026-07-28'))['outputSchema']).toBe(
    outputSchema,
  );
});

function withSchemas(schemas: Partial<Pick<Tool, 'inputSchema' | 'outputSchema'>>): Tool {
  const inputSchema = { type: 'object', properties: {} } as const;
  return { name: 'a', description: 'Does a.', inputSchema, handler: () => undefined, ...schemas };
}

function featuresOf(version: Version): Features {
  return revisionOf(version)!.features;
}
