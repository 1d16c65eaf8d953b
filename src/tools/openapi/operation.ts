import { asList } from '../../base/json.ts';
import { foldedHeader, isRefusedHeader } from '../../net/prepare-request.ts';
import { asObject, asText, unusable, type Json, type OpenApiDocument } from './document.ts';
import { NameGiver } from './names.ts';

/** One argument, and its place in the request. */
export interface OpenApiParameter {
  /** Its name among the arguments. */
  readonly property: string;
  /** Its name in the request. */
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly style: string;
  readonly explode: boolean;
  /** Whether it is sent as JSON text. */
  readonly isJson: boolean;
  readonly isRequired: boolean;
  readonly description: string;
  readonly schema: unknown;
}

/** An operation: everything needed to describe and to call it. */
export interface OpenApiOperation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  readonly summary: string;
  readonly description: string;
  readonly returns: string;
  readonly isDeprecated: boolean;
  readonly parameters: readonly OpenApiParameter[];
  readonly body: OpenApiBody | undefined;
  /** The schema of a JSON response. */
  readonly answer: unknown;
  /** The server of this operation, if it names one. */
  readonly server: unknown;
}

/** The body of a request. */
export interface OpenApiBody {
  readonly property: string;
  /** How its argument is written: as JSON, as the text itself, or as base64. */
  readonly encoding: 'json' | 'text' | 'base64';
  readonly mediaType: string;
  readonly isRequired: boolean;
  readonly description: string;
  readonly schema: unknown;
}

/** The place of an operation in its document. */
export interface OperationPlace {
  readonly method: string;
  readonly template: string;
  readonly item: Json;
  readonly operation: Json;
}

/** Headers and query parameters that callers may not set. */
export interface OwnNames {
  /** In the form of the most lenient host. */
  readonly headers: ReadonlySet<string>;
  /** In lower case. */
  readonly query: string | undefined;
}

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'];

/** Every operation of a document; those whose method cannot be called are passed to `onLeftOut`. */
export function* operationPlacesIn(
  document: OpenApiDocument,
  onLeftOut: (place: string, reason: string) => void,
): Generator<OperationPlace> {
  for (const [template, value] of Object.entries(document.paths)) {
    if (!template.startsWith('/')) continue;
    let item: Json;
    try {
      item = document.resolve(value, 'The path');
    } catch {
      onLeftOut(template, 'the path is described outside of this document or not at all');
      continue;
    }
    for (const method of METHODS) {
      const operation = item[method];
      if (typeof operation === 'object' && operation !== null)
        yield { method: method.toUpperCase(), template, item, operation: operation as Json };
    }
    for (const method of ['options', 'trace'])
      if (method in item) onLeftOut(`${method.toUpperCase()} ${template}`, 'this method is not offered');
  }
}

/** Reads an operation; throws `invalid_tool` with the reason if it cannot become a tool. */
export function readOperation(
  place: OperationPlace,
  document: OpenApiDocument,
  own: OwnNames,
): OpenApiOperation {
  const { method, template, item, operation } = place;
  if (/[?#\\]/.test(template)) throw unusable('its path holds a query');
  const names = new NameGiver();
  const body = readBody(operation['requestBody'], document);
  const answer = readAnswer(asObject(operation['responses']), document);
  const declared = readParameters({ item, operation, template }, document, own);
  // Path first: of two with the same name, the one in the path keeps it.
  const isTaken = (one: Declared): boolean =>
    (body !== undefined && one.name === 'body') ||
    declared.some((other) => other !== one && other.name === one.name && rank(other) < rank(one));
  const property = body && names.give('body');
  const parameters = declared.map((one) => ({
    ...one,
    property: names.give(isTaken(one) ? `${one.name}_${one.in}` : one.name, `${one.in}_parameter`),
  }));
  return {
    id: asText(operation['operationId']),
    method,
    template,
    summary: asText(operation['summary']) || asText(item['summary']),
    description: asText(operation['description']) || asText(item['description']),
    returns: answer.description,
    isDeprecated: operation['deprecated'] === true,
    parameters,
    body: body && { ...body, property: property! },
    answer: answer.schema,
    server: asList(operation['servers'])[0] ?? asList(item['servers'])[0],
  };
}

type Declared = Omit<OpenApiParameter, 'property'>;

const RANKS = ['path', 'query', 'header'];

function rank(parameter: Declared): number {
  return RANKS.indexOf(parameter.in);
}

function readParameters(
  { item, operation, template }: Pick<OperationPlace, 'item' | 'operation' | 'template'>,
  document: OpenApiDocument,
  own: OwnNames,
): Declared[] {
  const found = new Map<string, Declared>();
  for (const value of [...asList(item['parameters']), ...asList(operation['parameters'])]) {
    const parameter = readParameter(document.resolve(value, 'A parameter'), own);
    // A parameter of the operation replaces that of its path.
    if (parameter) found.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  const inPath = new Set([...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name));
  for (const name of inPath)
    if (!found.has(`path ${name}`)) throw unusable(`its path needs "${name}", which is not described`);
  return [...found.values()]
    .filter((one) => one.in !== 'path' || inPath.has(one.name))
    .toSorted((a, b) => rank(a) - rank(b));
}

// The server sets these itself, beside headers that may not be set.
const NOT_OFFERED = /^(?:accept|authorization|content-type)$/;
const DEFAULT_STYLES = { path: 'simple', query: 'form', header: 'simple' };

function readParameter(parameter: Json, own: OwnNames): Declared | undefined {
  const name = asText(parameter['name']);
  const place = parameter['in'];
  const isRequired = parameter['required'] === true || place === 'path';
  if (name === '') throw unusable('a parameter has no name');
  if (place === 'header' && isTakenHeader(name, own)) return undefined;
  if (place === 'query' && name.toLowerCase() === own.query) return undefined;
  if (place !== 'path' && place !== 'query' && place !== 'header') {
    if (isRequired) throw unusable(`it needs "${name}" in a cookie, and cookies are not sent`);
    return undefined;
  }
  const [mediaType, content] = Object.entries(asObject(parameter['content']))[0] ?? [];
  if (mediaType !== undefined && !isJsonType(mediaType))
    throw unusable(`its parameter "${name}" is sent as ${mediaType}`);
  const style = asText(parameter['style']) || DEFAULT_STYLES[place];
  return {
    name,
    in: place,
    style,
    explode: typeof parameter['explode'] === 'boolean' ? parameter['explode'] : style === 'form',
    isJson: mediaType !== undefined,
    isRequired,
    description: asText(parameter['description']),
    schema: mediaType === undefined ? withExample(parameter) : asObject(content)['schema'],
  };
}

function isTakenHeader(name: string, { headers }: OwnNames): boolean {
  const folded = foldedHeader(name);
  return NOT_OFFERED.test(folded) || isRefusedHeader(name) || headers.has(folded);
}

function withExample({ schema, example }: Json): unknown {
  const isPlain =
    typeof schema === 'object' && schema !== null && !('$ref' in schema) && !('example' in schema);
  return example !== undefined && isPlain ? { ...schema, example } : schema;
}

function readBody(value: unknown, document: OpenApiDocument): Omit<OpenApiBody, 'property'> | undefined {
  if (value === undefined) return undefined;
  const body = document.resolve(value, 'Its body');
  const content = asObject(body['content']);
  const mediaTypes = Object.keys(content);
  if (mediaTypes.length === 0) return undefined;
  const kind = BODIES.find(({ fits }) => mediaTypes.some(fits));
  if (!kind)
    throw unusable(`it takes ${mediaTypes.join(', ')}, and only JSON, text and plain bytes are sent`);
  const name = mediaTypes.find(kind.fits)!;
  const schema = asObject(content[name])['schema'];
  const { encoding } = kind;
  const own = asText(body['description']);
  return {
    encoding,
    mediaType: kind.sentAs(name),
    isRequired: body['required'] === true,
    description: own === '' && encoding !== 'json' ? asText(asObject(schema)['description']) : own,
    schema: encoding === 'json' ? schema : textSchema(schema, encoding),
  };
}

interface BodyKind {
  readonly encoding: OpenApiBody['encoding'];
  readonly fits: (mediaType: string) => boolean;
  readonly sentAs: (mediaType: string) => string;
}

// In the order of what models write best.
const BODIES: readonly BodyKind[] = [
  { encoding: 'json', fits: isJsonType, sentAs: (type) => type },
  { encoding: 'json', fits: (type) => type === '*/*', sentAs: () => 'application/json' },
  { encoding: 'text', fits: isTextType, sentAs: textTypeOf },
  {
    encoding: 'base64',
    fits: (type) => /^application\/octet-stream\b/i.test(type.trim()),
    sentAs: () => 'application/octet-stream',
  },
];

function isTextType(mediaType: string): boolean {
  return /^text\/(?:\*|[\w.+-]+)(?:\s*;|$)/i.test(mediaType.trim());
}

// Whatever charset the description names, UTF-8 is sent.
function textTypeOf(mediaType: string): string {
  const type = mediaType.split(';')[0]!.trim().toLowerCase();
  return `${type === 'text/*' ? 'text/plain' : type}; charset=utf-8`;
}

// The limits of a description apply to the text itself, not to bytes in base64.
function textSchema(schema: unknown, encoding: 'text' | 'base64'): Json {
  const described = asObject(schema);
  const isText = encoding === 'text' && described['type'] === 'string' && described['nullable'] !== true;
  return isText ? described : { type: 'string' };
}

function readAnswer(responses: Json, document: OpenApiDocument): { schema: unknown; description: string } {
  const good = Object.keys(responses).filter((status) => /^2(?:\d\d|XX)$/i.test(status));
  const read = good.toSorted().map((status) => document.resolve(responses[status], 'Its answer'));
  for (const response of read) {
    const content = asObject(response['content']);
    const mediaType = Object.keys(content).find(isJsonType);
    const schema = mediaType === undefined ? undefined : asObject(content[mediaType])['schema'];
    if (schema !== undefined) return { schema, description: asText(response['description']) };
  }
  return { schema: undefined, description: asText(read[0]?.['description']) };
}

/** Whether a call can be repeated without further effect. */
export function isRepeatable(method: string): boolean {
  return method !== 'POST' && method !== 'PATCH';
}

/** Whether a media type is JSON. */
export function isJsonType(mediaType: string): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\b/i.test(mediaType.trim());
}
