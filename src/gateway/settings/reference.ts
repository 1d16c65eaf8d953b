import { z } from 'zod';
import { configSchema } from './config.ts';

/** The configuration as a JSON Schema, for editors: it must accept files whose `${...}` are not filled in. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    ...takingOutside(declared()),
    title: 'Toolcrib configuration',
    description: 'What toolcrib serve --config reads; every key is optional.',
  };
}

function declared(): Shape {
  return z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Shape;
}

const OUTSIDE = '\\$\\{';
const TYPED = new Set<unknown>(['number', 'integer', 'boolean']);

function takingOutside(shape: Shape): Shape {
  if (isTyped(shape)) return { ...shape, type: [String(shape.type), 'string'], pattern: OUTSIDE };
  if (shape.type === 'string') return textTakingOutside(shape);
  return {
    ...shape,
    ...(shape.properties && { properties: mapValues(shape.properties) }),
    ...(shape.items && { items: takingOutside(shape.items) }),
    // If several types are possible, the value of a variable is not converted.
    ...(shape.anyOf && { anyOf: shape.anyOf.map((one) => (isTyped(one) ? one : takingOutside(one))) }),
    ...(typeof shape.additionalProperties === 'object' && {
      additionalProperties: takingOutside(shape.additionalProperties),
    }),
  };
}

function isTyped(shape: Shape): boolean {
  return TYPED.has(shape.type) && !('const' in shape);
}

function textTakingOutside({ enum: words, const: word, format, pattern, ...rest }: Shape): Shape {
  if (words === undefined && word === undefined && format === undefined)
    return pattern === undefined ? rest : { ...rest, pattern: `${OUTSIDE}|${pattern}` };
  const own = Object.entries({ enum: words, const: word, format, pattern }).filter(
    ([, value]) => value !== undefined,
  );
  return { ...rest, anyOf: [Object.fromEntries(own), { pattern: OUTSIDE }] };
}

function mapValues(properties: Readonly<Record<string, Shape>>): Readonly<Record<string, Shape>> {
  return Object.fromEntries(Object.entries(properties).map(([name, shape]) => [name, takingOutside(shape)]));
}

const START = '<!-- generated: npm run schema -->';
const END = '<!-- end of what is generated -->';

/** A docs page with the tables between its two marks generated from the declaration. */
export function withTables(page: string): string {
  const [before, , after] = page.split(
    /<!-- generated: npm run schema -->|<!-- end of what is generated -->/,
  );
  if (before === undefined || after === undefined) throw new Error('The page has lost its marks.');
  return `${before}${START}\n\n${tables()}\n${END}${after}`;
}

function tables(): string {
  const { properties = {} } = declared();
  return Object.entries(properties)
    .map(([name, shape]) => (name === 'stages' ? stageSections(shape) : section(name, shape)))
    .join('\n');
}

interface Shape {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly additionalProperties?: Shape | boolean;
}

function section(name: string, shape: Shape): string {
  const title = shape.items ? `\`${name}\`, a list` : `\`${name}\``;
  const rows = [...rowsOf(shape.items ?? shape), ...entryRows(shape)];
  return [`### ${title}`, '', shape.description, '', ...table(rows)].join('\n');
}

function stageSections({ properties = {}, description }: Shape): string {
  const all = Object.entries(properties);
  const overview = all.map(
    ([name, shape]) =>
      `| [\`${name}\`](${pageOf(name)}) | ${shape.default === false ? 'off' : 'on'} | ${shape.description} |`,
  );
  const details = all.flatMap(([name, shape]) => {
    const rows = rowsOf(shape.anyOf?.find((one) => one.properties) ?? {});
    return rows.length > 0 ? [`#### \`stages.${name}\``, '', ...table(rows)] : [];
  });
  const head = ['| stage | unless set | what it does |', '| --- | --- | --- |'];
  return ['### `stages`', '', description, '', ...head, ...overview, '', ...details].join('\n');
}

function pageOf(stage: string): string {
  return `stages/${stage.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.md`;
}

function rowsOf(shape: Shape, prefix = ''): string[] {
  return Object.entries(shape.properties ?? {}).flatMap(([name, inner]) => {
    const standard = shape.required?.includes(name) ? 'needed' : standardOf(inner);
    const cells = [`\`${prefix}${name}\``, takesOf(inner), standard, inner.description ?? ''];
    return [
      `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
      ...rowsOf(oneOf(inner), `${prefix}${name}.`),
    ];
  });
}

// A section of named entries may have several kinds of them; a key that they share has one row.
function entryRows({ additionalProperties }: Shape): string[] {
  if (typeof additionalProperties !== 'object') return [];
  const kinds = additionalProperties.anyOf ?? [additionalProperties];
  return [...new Set(kinds.flatMap((kind) => rowsOf(kind, '<name>.')))];
}

// If one entry or a list of them is possible, the keys of both are the same.
function oneOf(shape: Shape): Shape {
  const { anyOf: [one, many] = [] } = shape;
  return one?.properties && many?.items ? one : shape;
}

function table(rows: readonly string[]): string[] {
  return ['| key | takes | default | meaning |', '| --- | --- | --- | --- |', ...rows, ''];
}

function takesOf(shape: Shape): string {
  if (shape.enum) return shape.enum.map((one) => `\`${String(one)}\``).join(', ');
  if ('const' in shape) return `\`${String(shape.const)}\``;
  if (shape.anyOf) return shape.anyOf.map(takesOf).join(' or ');
  if (Array.isArray(shape.type))
    return shape.type.map((type) => NAMES[String(type)] ?? String(type)).join(' or ');
  if (shape.items) return `list of ${takesOf(shape.items)}`;
  if (typeof shape.additionalProperties === 'object') return `${takesOf(shape.additionalProperties)} by name`;
  return NAMES[String(shape.type)] ?? 'any';
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  object: 'keys',
};

function standardOf(shape: Shape): string {
  if (shape.default === undefined) return '';
  const isEmpty = JSON.stringify(shape.default) === '{}' && shape.properties !== undefined;
  return isEmpty ? '' : `\`${JSON.stringify(shape.default)}\``;
}
