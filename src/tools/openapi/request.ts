import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { decoded } from './document.ts';
import type { OpenApiBody, OpenApiOperation, OpenApiParameter } from './operation.ts';
import { headerArgument, pathValue, queryPairs, type Pair } from './values.ts';

/** The request of a call. */
export interface BuiltRequest {
  readonly method: string;
  /** The encoded path below the server. */
  readonly path: string;
  readonly query: readonly Pair[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

type Arguments = Readonly<Record<string, unknown>>;

/**
 * Puts arguments into the request of an operation; throws `invalid_arguments` for a value that would lead elsewhere.
 */
export function buildRequest(operation: OpenApiOperation, args: Arguments): BuiltRequest {
  const { method, parameters, body } = operation;
  const given = parameters.filter(({ property }) => Object.hasOwn(args, property) && args[property] !== null);
  const valueOf = ({ property, isJson }: OpenApiParameter): unknown =>
    isJson ? JSON.stringify(args[property]) : args[property];
  const of = (place: OpenApiParameter['in']): OpenApiParameter[] => given.filter((one) => one.in === place);
  const sent = body && Object.hasOwn(args, body.property) ? bodyOf(body, args[body.property]) : undefined;
  return {
    method,
    path: pathOf(operation.template, of('path'), valueOf),
    query: of('query').flatMap((one) => queryPairs(one, valueOf(one))),
    headers: {
      ...Object.fromEntries(of('header').map((one) => [one.name, checkedHeader(one, valueOf(one))])),
      ...(sent !== undefined && body && { 'content-type': body.mediaType }),
    },
    body: sent,
  };
}

function bodyOf({ property, encoding }: OpenApiBody, value: unknown): string | Uint8Array {
  if (encoding === 'json') return JSON.stringify(value);
  if (typeof value !== 'string') throw refused(property, 'must be text');
  if (encoding === 'text') return value;
  // The decoder would skip invalid base64, and send something else than was meant.
  if (!BASE64.test(value) || value.length % 4 !== 0)
    throw refused(property, 'must be base64, with "=" at its end where needed');
  return Buffer.from(value, 'base64');
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function pathOf(
  template: string,
  parameters: readonly OpenApiParameter[],
  valueOf: (parameter: OpenApiParameter) => unknown,
): string {
  const byName = new Map(parameters.map((one) => [one.name, one]));
  return template
    .split(/(\{[^{}]*\})/)
    .map((part) => {
      const parameter = part.startsWith('{') ? byName.get(part.slice(1, -1)) : undefined;
      // Existing percent-encoding stays.
      if (!parameter) return encodeURI(part).replaceAll('%25', '%');
      const value = valueOf(parameter);
      for (const text of textsIn(value)) checkPathText(parameter, text);
      return pathValue(parameter, value);
    })
    .join('');
}

// A server behind the API may decode a value once too often, so decoded forms are checked too.
function checkPathText({ property }: OpenApiParameter, text: string): void {
  if (text === '') throw refused(property, 'must not be empty');
  for (const seen of [text, decoded(text), decoded(decoded(text))]) {
    if (/[\p{Cc}\p{Cs}]/u.test(seen)) throw refused(property, 'must not hold control characters');
    if (seen.split(/[/\\]/).some(isStep)) throw refused(property, 'must not hold a "." or ".." step');
  }
}

function isStep(segment: string): boolean {
  const [step] = segment.replaceAll(/%2e/gi, '.').split(';');
  return step === '.' || step === '..';
}

function textsIn(value: unknown): string[] {
  if (typeof value !== 'object') return [typeof value === 'string' ? value : JSON.stringify(value)];
  const texts = isObject(value) ? Object.entries(value).flat() : Object.values(value ?? {});
  // An empty segment would lead to the parent path.
  return texts.length === 0 ? [''] : texts.flatMap(textsIn);
}

function checkedHeader(parameter: OpenApiParameter, value: unknown): string {
  const text = headerArgument(parameter, value);
  if (/^[\t\x20-\x7e]*$/.test(text)) return text;
  throw refused(parameter.property, 'must be one line of plain characters, because it is sent as a header');
}

function refused(what: string, rule: string): ToolcribError {
  return new ToolcribError('invalid_arguments', `Invalid arguments: ${what}: ${rule}`);
}
