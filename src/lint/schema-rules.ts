import { isObject } from '../base/json.ts';
import type { ListedTool } from '../core/tool.ts';
import { remarkIf, type Remark, type Rule } from './finding.ts';
import { schemasIn } from './places.ts';
import { checkStrict } from './strict-schema.ts';

/** What schemas must look like so that clients and model APIs accept them. */
export const schemaRules: readonly Rule[] = [
  { id: 'schema-root', check: checkRoot },
  { id: 'schema-union-root', check: checkUnionRoot },
  { id: 'schema-ref', check: checkReferences },
  { id: 'schema-strict', check: checkStrict },
  { id: 'additional-properties', check: checkAdditional },
  { id: 'output-missing', check: checkOutput },
  { id: 'header-secret', check: checkHeaders },
];

const UNIONS = ['oneOf', 'anyOf', 'allOf'] as const;
const SECRET_WORDS = /pass(?:word|phrase|wd)|secret|token|credential|api_?key|private_?key|\b(?:pin|ssn)\b/i;

type Fields = Readonly<Record<string, unknown>>;

function checkRoot({ inputSchema, outputSchema }: ListedTool): readonly Remark[] {
  const input: unknown = inputSchema;
  return [
    ...remarkIf(!isObject(input) || input['type'] !== 'object', {
      severity: 'error',
      message:
        'Give the input schema "type": "object": arguments always are one, and clients refuse the rest.',
      path: 'inputSchema',
    }),
    ...remarkIf(isObject(outputSchema) && !isUnion(outputSchema) && outputSchema['type'] !== 'object', {
      severity: 'warning',
      message:
        'Return an object that holds the value: before 2026-07-28 an output schema must be an object, so older clients get another shape.',
      path: 'outputSchema',
    }),
  ];
}

function checkUnionRoot({ inputSchema, outputSchema }: ListedTool): readonly Remark[] {
  const roots = [
    ['inputSchema', inputSchema, 'error'],
    ['outputSchema', outputSchema, 'warning'],
  ] as const;
  return roots.flatMap(([path, schema, severity]) => {
    // A result that is always an object is fine for every client.
    if (!isObject(schema) || (severity === 'warning' && schema['type'] === 'object')) return [];
    return UNIONS.filter((keyword) => keyword in schema).map((keyword) => ({
      severity,
      message:
        severity === 'error'
          ? `Take ${keyword} off the root, into a property or into the handler: a model API refuses every tool of a list with one such root.`
          : `Write one object whose properties tell the cases apart: older clients get a result under ${keyword} in another shape.`,
      path: `${path}.${keyword}`,
    }));
  });
}

function isUnion(schema: Fields): boolean {
  return UNIONS.some((keyword) => keyword in schema);
}

function checkReferences({ inputSchema, outputSchema }: ListedTool): readonly Remark[] {
  return [
    ...referencesIn(inputSchema, 'inputSchema', 'warning'),
    ...referencesIn(outputSchema, 'outputSchema', 'hint'),
  ];
}

function referencesIn(schema: unknown, root: string, severity: Remark['severity']): readonly Remark[] {
  return schemasIn(schema, root).flatMap(({ node, path }): readonly Remark[] => {
    const reference = node['$ref'];
    if (reference === undefined) return [];
    const isInside = typeof reference === 'string' && reference.startsWith('#');
    const message = isInside
      ? 'Write the schema out where it is used: several clients and model APIs do not follow $ref.'
      : 'Put the schema under $defs and point there with "#/$defs/name": nothing is fetched from elsewhere.';
    return [{ severity: isInside ? severity : 'error', message, path: `${path}.$ref` }];
  });
}

function checkAdditional({ inputSchema }: ListedTool): readonly Remark[] {
  const isOpen = isObject(inputSchema) && !isClosed(inputSchema);
  return remarkIf(isOpen, {
    severity: 'hint',
    message:
      'Add "additionalProperties": false (z.strictObject): a misspelt argument is then refused instead of lost, and strict model APIs ask for it.',
    path: 'inputSchema',
  });
}

function isClosed({ additionalProperties, unevaluatedProperties }: Fields): boolean {
  // A schema for further arguments means that they are wanted.
  return additionalProperties !== undefined || unevaluatedProperties === false;
}

function checkOutput({ outputSchema }: ListedTool): readonly Remark[] {
  return remarkIf(outputSchema === undefined, {
    severity: 'hint',
    message: 'Add an output schema: results are then checked, and clients and code know what they get.',
  });
}

function checkHeaders({ inputSchema }: ListedTool): readonly Remark[] {
  return schemasIn(inputSchema, 'inputSchema')
    .filter(({ node, name }) => typeof node['x-mcp-header'] === 'string' && SECRET_WORDS.test(name))
    .map(({ path, name }) => ({
      severity: 'warning',
      message: `Take x-mcp-header off "${name}": headers are seen and logged by everything in between.`,
      path,
    }));
}
