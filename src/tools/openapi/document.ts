import { ToolcribError } from '../../base/errors.ts';
import { asList, isObject } from '../../base/json.ts';

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** A description of a supported version. */
export interface OpenApiDocument {
  readonly title: string;
  readonly paths: Json;
  readonly servers: readonly unknown[];
  /** The target of a reference inside the document; `undefined` if it is missing or elsewhere. */
  find(reference: string): unknown;
  /** The object itself, or the one it refers to; throws if there is none. */
  resolve(value: unknown, what: string): Json;
}

const MAX_HOPS = 16;

/** Reads an OpenAPI 3 description; throws `invalid_setup` for anything else. */
export function readDocument(document: object): OpenApiDocument {
  const root = asObject(document);
  checkVersion(root);
  const find = (reference: string): unknown => follow(root, reference);
  return {
    title: asText(asObject(root['info'])['title']) || 'the API',
    paths: asObject(root['paths']),
    servers: asList(root['servers']),
    find,
    resolve(value, what) {
      let found = value;
      for (let hop = 0; hop < MAX_HOPS && isObject(found) && typeof found['$ref'] === 'string'; hop++)
        found = find(found['$ref']);
      if (isObject(found) && typeof found['$ref'] !== 'string') return found;
      throw unusable(`${what} is described outside of this document or not at all`);
    },
  };
}

/** Why an operation cannot become a tool; the others still can. */
export function unusable(reason: string): ToolcribError {
  return new ToolcribError('invalid_tool', reason);
}

/** The value if it is an object, or an empty object. */
export function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}

/** The value if it is text, or an empty text. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A text with its percent-encoding decoded; an invalid `%` stays. */
export function decoded(text: string): string {
  const bytes = Buffer.from(text)
    .toString('latin1')
    .replaceAll(/%[\da-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

function checkVersion({ openapi, swagger }: Json): void {
  if (typeof openapi === 'string' && /^3\.\d/.test(openapi)) return;
  const is = typeof swagger === 'string' || typeof swagger === 'number' ? `Swagger ${swagger}` : undefined;
  throw new ToolcribError(
    'invalid_setup',
    is
      ? `This description is ${is}; convert it to OpenAPI 3 first, for example with swagger2openapi.`
      : 'This is no OpenAPI 3 description: it needs "openapi: 3.0.x" or "3.1.x" at its top.',
  );
}

function follow(root: Json, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const part of reference.split('/').slice(1)) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
