import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync, Visitor, type Node, type ObjectExpression } from 'oxc-parser';

/** The official schema of one revision: its definitions, by name. */
export interface OfficialSchema {
  readonly $schema: string;
  readonly definitions?: Readonly<Record<string, object>>;
  readonly $defs?: Readonly<Record<string, object>>;
}

const VERSIONS = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
const bundle = join(import.meta.dirname, '../node_modules/@modelcontextprotocol/conformance/dist/index.js');
const kept = join(import.meta.dirname, '../node_modules/.cache/toolcrib/official-schemas.json');

/** Reads the schemas out of the bundle of the conformance suite, once for all tests: its parsing takes seconds. */
export function setup(): void {
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, JSON.stringify(extract(readFileSync(bundle, 'utf8'))));
}

/** The schemas by version; no package holds that of 2024-11-05, which is made from the next one. */
export function officialSchemas(): ReadonlyMap<string, OfficialSchema> {
  const schemas = JSON.parse(readFileSync(kept, 'utf8')) as Record<string, OfficialSchema>;
  return new Map(Object.entries({ ...schemas, '2024-11-05': withoutNews(schemas['2025-03-26']!) }));
}

// What a comparison with the official file shows that a server may say in 2025-03-26 and not in 2024-11-05; batches and
// a capability, which is an open set, aside.
const NEWS = { Tool: 'annotations', ProgressNotification: 'message' };
const NEW_DEFINITIONS = ['AudioContent', 'ToolAnnotations'];

function withoutNews(schema: OfficialSchema): OfficialSchema {
  const text = JSON.stringify(schema.definitions, (_key, value: unknown) =>
    Array.isArray(value)
      ? value.filter((each) => (each as { $ref?: string } | null)?.$ref !== '#/definitions/AudioContent')
      : value,
  );
  const definitions = JSON.parse(text) as Record<string, Described>;
  for (const name of NEW_DEFINITIONS) delete definitions[name];
  for (const [name, member] of Object.entries(NEWS)) {
    const { properties } = definitions[name]!;
    const members = properties['params']?.properties ?? properties;
    if (!(member in members)) throw new Error(`${name} of 2025-03-26 has no "${member}".`);
    delete members[member];
  }
  return { ...schema, definitions };
}

interface Described {
  readonly properties: Record<string, Described | undefined>;
}

function extract(code: string): Record<string, unknown> {
  const { program } = parseSync('conformance.js', code);
  const found: unknown[] = [];
  new Visitor({
    ObjectExpression(node) {
      if (describesMessages(node)) found.push(valueOf(node));
    },
  }).visit(program);
  if (found.length !== VERSIONS.length)
    throw new Error(`The conformance suite has ${found.length} schemas, not ${VERSIONS.length}.`);
  return Object.fromEntries(VERSIONS.map((version, index) => [version, found[index]]));
}

function describesMessages(node: ObjectExpression): boolean {
  const definitions = memberOf(node, 'definitions') ?? memberOf(node, '$defs');
  return definitions?.type === 'ObjectExpression' && memberOf(definitions, 'JSONRPCMessage') !== undefined;
}

function memberOf(node: ObjectExpression, name: string): Node | undefined {
  const member = node.properties.find((each) => each.type === 'Property' && nameOf(each.key) === name);
  return member?.type === 'Property' ? member.value : undefined;
}

function nameOf(key: Node): string | undefined {
  if (key.type === 'Identifier') return key.name;
  return key.type === 'Literal' ? String(key.value) : undefined;
}

// Read as data and never run: what is no plain value is an error.
function valueOf(node: Node): unknown {
  switch (node.type) {
    case 'ObjectExpression':
      return Object.fromEntries(
        node.properties.map((each) => {
          if (each.type !== 'Property')
            throw new Error('A schema of the conformance suite is no plain data.');
          return [nameOf(each.key), valueOf(each.value)];
        }),
      );
    case 'ArrayExpression':
      return node.elements.map((each) => valueOf(each!));
    case 'Literal':
      return node.value;
    case 'TemplateLiteral':
      return node.quasis[0]!.value.cooked;
    case 'UnaryExpression':
      return node.operator === '!' ? !valueOf(node.argument) : -(valueOf(node.argument) as number);
    default:
      throw new Error(`A schema of the conformance suite has a ${node.type}.`);
  }
}
