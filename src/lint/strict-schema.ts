import { isObject } from '../base/json.ts';
import { isLinearPattern } from '../base/linear-pattern.ts';
import type { Node } from '../schema/references.ts';
import type { ListedTool } from '../core/tool.ts';
import { remarkIf, type Remark } from './finding.ts';
import { schemasIn, type SchemaPlace } from './places.ts';

/** Finds what JSON Schema allows, or nearly allows, but strict clients and model APIs refuse. */
export function checkStrict({ inputSchema, outputSchema }: ListedTool): readonly Remark[] {
  const places = schemasIn(inputSchema, 'inputSchema');
  const sound = [...places, ...schemasIn(outputSchema, 'outputSchema')];
  return [
    ...places.flatMap((place) => forModels.flatMap((check) => check(place))),
    ...sound.flatMap((place) => forEverybody.flatMap((check) => check(place))),
    ...checkExtent(places),
  ];
}

type Check = (place: SchemaPlace) => readonly Remark[];

// Only input schemas are passed to models.
const forModels: readonly Check[] = [checkItems, checkTypeList, checkType, checkName];
const forEverybody: readonly Check[] = [checkPattern, checkFormat, checkEnum, checkDefault, checkRequired];

const MAX_PROPERTIES = 100;
const MAX_LEVELS = 10;
const COMMON_LEVELS = 5;

const FORMATS: ReadonlySet<string> = new Set([
  'date',
  'date-time',
  'duration',
  'email',
  'hostname',
  'idn-email',
  'idn-hostname',
  'ipv4',
  'ipv6',
  'iri',
  'iri-reference',
  'json-pointer',
  'regex',
  'relative-json-pointer',
  'time',
  'uri',
  'uri-reference',
  'uri-template',
  'uuid',
]);

function checkItems({ node, path }: SchemaPlace): readonly Remark[] {
  if (!typesOf(node).includes('array') || 'items' in node) return [];
  const isTuple = 'prefixItems' in node;
  return [
    {
      severity: isTuple ? 'warning' : 'error',
      message: isTuple
        ? 'Use an object with named properties instead of a tuple: several model APIs know only "items".'
        : 'Say with "items" what is in the list: model APIs refuse a list without it.',
      path,
    },
  ];
}

function checkTypeList({ node, path }: SchemaPlace): readonly Remark[] {
  return remarkIf(Array.isArray(node['type']), {
    severity: 'warning',
    message:
      'Give one type, with anyOf around several, and leave an argument out instead of null: some model APIs take no list of types.',
    path: `${path}.type`,
  });
}

const TELLING = ['type', 'enum', 'const', '$ref', 'anyOf', 'oneOf', 'allOf'];

function checkType({ node, path, role, isCondition }: SchemaPlace): readonly Remark[] {
  const isValue = (role === 'property' || role === 'item') && !isCondition;
  return remarkIf(isValue && !TELLING.some((keyword) => keyword in node), {
    severity: 'hint',
    message: 'Give it a type: some model APIs refuse an argument that may be anything.',
    path,
  });
}

function checkName({ role, name, path, levels }: SchemaPlace): readonly Remark[] {
  return remarkIf(role === 'property' && !/^[A-Za-z0-9_.-]{1,64}$/.test(name), {
    // Model APIs check the names of arguments, and mostly not those inside them.
    severity: levels === 1 ? 'error' : 'warning',
    message:
      'Name it with 1 to 64 letters, digits, "_", "-" and ".": a model API refuses the whole list over other names.',
    path,
  });
}

function checkPattern({ node, path }: SchemaPlace): readonly Remark[] {
  const { pattern } = node;
  return remarkIf(typeof pattern === 'string' && !isLinearPattern(pattern), {
    severity: 'warning',
    message: 'Write the pattern without look-around and back-references: many engines have neither.',
    path: `${path}.pattern`,
  });
}

function checkFormat({ node, path }: SchemaPlace): readonly Remark[] {
  const { format } = node;
  return remarkIf(typeof format === 'string' && !FORMATS.has(format), {
    severity: 'warning',
    message: `Use a format that JSON Schema names, or say it in the description: nobody checks "${String(format)}".`,
    path: `${path}.format`,
  });
}

function checkEnum({ node, path }: SchemaPlace): readonly Remark[] {
  const choices = node['enum'];
  if (!Array.isArray(choices)) return [];
  const kinds = new Set(choices.filter((choice) => choice !== null).map((choice) => typeof choice));
  return [
    ...remarkIf(choices.length === 0, {
      severity: 'error',
      message: 'List at least one value, or leave enum out: nothing fits an empty one.',
      path: `${path}.enum`,
    }),
    ...remarkIf(kinds.size > 1, {
      severity: 'warning',
      message: 'List values of one type, text at best: model APIs refuse a mixture.',
      path: `${path}.enum`,
    }),
  ];
}

function checkDefault({ node, path }: SchemaPlace): readonly Remark[] {
  if (!('default' in node)) return [];
  const value = node['default'];
  const types = typesOf(node);
  const choices = node['enum'];
  const fits =
    (types.length === 0 || types.some((type) => isOfType(value, type))) &&
    (!Array.isArray(choices) || typeof value === 'object' || choices.includes(value));
  return remarkIf(!fits, {
    severity: 'error',
    message: 'Choose a default that its own schema allows: it is filled in, and then refused.',
    path: `${path}.default`,
  });
}

function checkRequired({ node, path, role }: SchemaPlace): readonly Remark[] {
  const { properties, required } = node;
  // A branch may require properties that the schema around it describes.
  if (!isObject(properties) || !Array.isArray(required) || role === 'branch') return [];
  return required
    .filter((name) => typeof name === 'string' && !Object.hasOwn(properties, name))
    .map((name: string) => ({
      severity: 'error',
      message: `Describe "${name}" under properties, or do not require it: model APIs refuse a name they know nothing of.`,
      path: `${path}.required`,
    }));
}

function checkExtent(places: readonly SchemaPlace[]): readonly Remark[] {
  const count = places.filter(({ role }) => role === 'property').length;
  const levels = Math.max(0, ...places.map((place) => place.levels));
  return [
    ...remarkIf(count > MAX_PROPERTIES, {
      severity: 'warning',
      message: `Make it fewer than ${count} properties, in several tools perhaps: some model APIs take ${MAX_PROPERTIES}.`,
      path: 'inputSchema',
    }),
    ...remarkIf(levels > COMMON_LEVELS, {
      severity: levels > MAX_LEVELS ? 'warning' : 'hint',
      message: `Make it flatter than ${levels} levels: strict model APIs take ${COMMON_LEVELS} or ${MAX_LEVELS}, and models fill in flat arguments better.`,
      path: 'inputSchema',
    }),
  ];
}

function typesOf(node: Node): readonly unknown[] {
  return [node['type']].flat().filter((type) => type !== undefined);
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'object') return isObject(value);
  return typeof value === type;
}
