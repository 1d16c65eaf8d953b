import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentSchema, agentsSchema } from './agent-schema.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/agent-files.md'), 'utf8');

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
  readonly not?: unknown;
  readonly additionalProperties?: Shape | boolean;
}

test('docs/agent-files.md has every key of the declaration, with its type, default and meaning', () => {
  const sections = sectionsOf(shapeOf(agentSchema), shapeOf(agentsSchema));
  for (const section of sections) expect(page).toContain(section);
  expect(sections.join('\n').match(/^\| `/gm)!.length).toBeGreaterThan(35);
});

test('every key has a description', () => {
  const silent = sectionsOf(shapeOf(agentSchema), shapeOf(agentsSchema)).flatMap((section) =>
    section.split('\n').filter((line) => /\| *\|$/.test(line)),
  );
  expect(silent).toEqual([]);
});

function shapeOf(schema: z.ZodType): Shape {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape;
}

function sectionsOf(agent: Shape, group: Shape): string[] {
  const { mcpServers, model, limits } = agent.properties!;
  const server = merged((mcpServers!.additionalProperties as Shape).anyOf!);
  return [agent, server, merged(model!.anyOf!), limits!, group].map(tableOf);
}

// Kinds of the same thing: a key of one of them is a key of the table.
function merged(shapes: readonly Shape[]): Shape {
  const all = shapes.flatMap(({ properties = {} }) => Object.entries(properties));
  const taken = new Map<string, Shape>();
  for (const [key, shape] of all)
    if (!taken.has(key) && shape.not === undefined) taken.set(key, joined(key, shapes));
  return { properties: Object.fromEntries(taken) };
}

function joined(key: string, shapes: readonly Shape[]): Shape {
  const kinds = shapes.flatMap(({ properties = {} }) =>
    properties[key] && properties[key].not === undefined ? [properties[key]] : [],
  );
  const words = kinds.flatMap((kind) => kind.enum ?? ('const' in kind ? [kind.const] : []));
  const first = kinds[0]!;
  return words.length > 0 && kinds.length > 1 && !first.enum?.includes(kinds.at(-1)!.enum?.[0])
    ? { ...first, enum: words }
    : first;
}

function tableOf({ properties = {} }: Shape): string {
  const rows = Object.entries(properties).map(([key, shape]) => {
    const standard =
      shape.default === undefined || isEmpty(shape.default) ? '' : `\`${JSON.stringify(shape.default)}\``;
    const cells = [`\`${key}\``, takesOf(shape), standard, shape.description ?? ''];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return ['| key | takes | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function isEmpty(value: unknown): boolean {
  return ['""', '[]', '{}'].includes(JSON.stringify(value));
}

function takesOf(shape: Shape): string {
  if (shape.enum) return shape.enum.map((one) => `\`${String(one)}\``).join(', ');
  if ('const' in shape) return `\`${String(shape.const)}\``;
  if (shape.anyOf) return [...new Set(shape.anyOf.map(takesOf))].join(' or ');
  if (Array.isArray(shape.type)) return shape.type.map((type: string) => NAMES[type] ?? type).join(' or ');
  if (shape.items) return `list of ${takesOf(shape.items)}`;
  if (typeof shape.additionalProperties === 'object') {
    const inner = takesOf(shape.additionalProperties);
    return inner === 'any' ? 'keys' : `${inner} by name`;
  }
  return NAMES[String(shape.type)] ?? 'any';
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: '`true` or `false`',
  object: 'keys',
};
