import { copyJson, isObject } from '../base/json.ts';
import type { JsonSchema } from './schema.ts';

type Copy = (value: unknown) => unknown;

/**
 * Makes a function that copies the parts of a value that defaults may be written into and shares the rest;
 * `undefined` if the schema has no defaults.
 */
export function copierOf(schema: JsonSchema): Copy | undefined {
  const text = JSON.stringify(schema);
  if (!text.includes('"default"')) return undefined;
  // With references, defaults of one place may apply to another.
  return /"\$(?:ref|dynamicRef)"/.test(text) ? copyJson : copierAt(schema);
}

function copierAt(schema: JsonSchema): Copy | undefined {
  // The own default of a schema is written into the parent of the value.
  const { default: _own, properties, ...rest } = schema;
  const known = isObject(properties) ? properties : {};
  if (JSON.stringify(rest).includes('"default"') || Object.hasOwn(known, '__proto__')) return copyJson;
  const fields = Object.entries(known).filter((field): field is [string, JsonSchema] => isObject(field[1]));
  const copies = fields.flatMap(([name, inner]): [string, Copy][] => {
    const copy = copierAt(inner);
    return copy ? [[name, copy]] : [];
  });
  if (copies.length === 0 && !fields.some(([, inner]) => 'default' in inner)) return undefined;
  return (value) => {
    if (!isObject(value)) return value;
    const filled: Record<string, unknown> = { ...value };
    for (const [name, copy] of copies) if (Object.hasOwn(filled, name)) filled[name] = copy(filled[name]);
    return filled;
  };
}
