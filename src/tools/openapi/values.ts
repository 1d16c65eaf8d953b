import { isObject } from '../../base/json.ts';
import type { OpenApiParameter } from './operation.ts';

/** A name and a value of a query, both encoded. */
export type Pair = readonly [name: string, value: string];

type Styled = Pick<OpenApiParameter, 'name' | 'style' | 'explode'>;

/** A value as part of a path: OpenAPI's styles `simple`, `label` and `matrix`. */
export function pathValue(parameter: Styled, value: unknown): string {
  const { style, explode } = parameter;
  switch (style) {
    case 'label':
      return `.${joined(value, { explode, between: explode ? '.' : ',' })}`;
    case 'matrix':
      return matrix(parameter, value);
    default:
      return joined(value, { explode, between: ',' });
  }
}

/** A value as query parameters: OpenAPI's styles `form`, `spaceDelimited`, `pipeDelimited` and `deepObject`. */
export function queryPairs({ name, style, explode }: Styled, value: unknown): Pair[] {
  const key = encoded(name);
  if (style === 'deepObject' && isObject(value)) return deepPairs(name, value);
  if (Array.isArray(value)) {
    const items = value.map(encoded);
    return explode ? items.map((item) => [key, item]) : [[key, items.join(SEPARATORS[style] ?? ',')]];
  }
  if (!isObject(value)) return [[key, encoded(value)]];
  const entries = entriesOf(value);
  return explode && style === 'form' ? entries : [[key, entries.flat().join(',')]];
}

/** A value as a header: style `simple`, not encoded. */
export function headerArgument({ explode }: Styled, value: unknown): string {
  return joined(value, { explode, between: ',', encode: textOf });
}

const SEPARATORS: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' };

interface Joining {
  readonly explode: boolean;
  readonly between: string;
  readonly encode?: (value: unknown) => string;
}

function joined(value: unknown, { explode, between, encode = encoded }: Joining): string {
  if (Array.isArray(value)) return value.map(encode).join(between);
  if (!isObject(value)) return encode(value);
  const entries = Object.entries(value).map(([key, item]) => [encode(key), encode(item)] as const);
  return entries.map((entry) => entry.join(explode ? '=' : between)).join(between);
}

function matrix({ name, explode }: Styled, value: unknown): string {
  const key = encoded(name);
  if (explode && Array.isArray(value)) return value.map((item) => `;${key}=${encoded(item)}`).join('');
  if (explode && isObject(value))
    return entriesOf(value)
      .map((entry) => `;${entry.join('=')}`)
      .join('');
  return `;${key}=${joined(value, { explode: false, between: ',' })}`;
}

function deepPairs(name: string, value: unknown): Pair[] {
  if (Array.isArray(value)) return value.map((item) => [encoded(name), encoded(item)]);
  if (!isObject(value)) return [[encoded(name), encoded(value)]];
  return Object.entries(value).flatMap(([key, item]) => deepPairs(`${name}[${key}]`, item));
}

function entriesOf(value: object): Pair[] {
  return Object.entries(value).map(([key, item]) => [encoded(key), encoded(item)]);
}

function encoded(value: unknown): string {
  // A lone surrogate cannot be encoded.
  return encodeURIComponent(textOf(value).replaceAll(/\p{Cs}/gu, '\ufffd'));
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}
