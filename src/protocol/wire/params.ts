import { logLevels, type ClientLogLevel } from '../../core/call.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { JsonObject } from './json-rpc.ts';
import { metaKeys, metaOf } from './meta.ts';

/** The parameters of `tools/call`. */
export interface CallParams {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Reads the parameters of `tools/call`. */
export function readCallParams(params: JsonObject | undefined): CallParams {
  const name = params?.['name'];
  const args = params?.['arguments'] ?? {};
  if (typeof name !== 'string') throw new ToolcribError('invalid_params', '"params.name" must name a tool.');
  if (!isObject(args)) throw new ToolcribError('invalid_params', '"params.arguments" must be an object.');
  return { name, arguments: args };
}

/** Reads the parameters of `prompts/get`. */
export function readPromptParams(params: JsonObject | undefined): {
  name: string;
  arguments: Record<string, string>;
} {
  const { name, arguments: args } = readCallParams(params);
  if (!Object.values(args).every((value) => typeof value === 'string')) {
    throw new ToolcribError('invalid_params', 'The arguments of a prompt must be text.');
  }
  return { name, arguments: args as Record<string, string> };
}

/** Reads the URI of a resource. */
export function readUri(params: JsonObject | undefined): string {
  const uri = params?.['uri'];
  if (typeof uri !== 'string')
    throw new ToolcribError('invalid_params', '"params.uri" must be the address of a resource.');
  return uri;
}

/** The parameters of `completion/complete`. */
export interface CompletionParams {
  readonly target: { readonly prompt: string } | { readonly template: string };
  readonly argument: { readonly name: string; readonly value: string };
  readonly chosen: Readonly<Record<string, string>>;
}

/** Reads the parameters of `completion/complete`. */
export function readCompletionParams(params: JsonObject | undefined): CompletionParams {
  const ref = objectAt(params, 'ref');
  const argument = objectAt(params, 'argument');
  const { name, value } = argument;
  if (typeof name !== 'string' || typeof value !== 'string') {
    throw new ToolcribError('invalid_params', '"params.argument" needs a "name" and a "value".');
  }
  const context = params?.['context'];
  const chosen = isObject(context) && isObject(context['arguments']) ? context['arguments'] : {};
  const given = Object.fromEntries(
    Object.entries(chosen).filter(([, text]) => typeof text === 'string'),
  ) as Record<string, string>;
  if (ref['type'] === 'ref/prompt' && typeof ref['name'] === 'string') {
    return { target: { prompt: ref['name'] }, argument: { name, value }, chosen: given };
  }
  if (ref['type'] === 'ref/resource' && typeof ref['uri'] === 'string') {
    return { target: { template: ref['uri'] }, argument: { name, value }, chosen: given };
  }
  throw new ToolcribError(
    'invalid_params',
    '"params.ref" must be a "ref/prompt" with a name or a "ref/resource" with a uri.',
  );
}

/** Reads the cursor of a list request; the first page has none. */
export function readCursor(params: JsonObject | undefined): string | undefined {
  const cursor = params?.['cursor'];
  if (cursor === undefined || typeof cursor === 'string') return cursor;
  throw new ToolcribError('invalid_params', '"params.cursor" must be a string.');
}

const MAX_TOKEN_LENGTH = 256;

/** Reads the token for progress notifications. */
export function readProgressToken(params: JsonObject | undefined): string | number | undefined {
  const token = metaOf(params)['progressToken'];
  // It is repeated with every notification, so it must be short.
  const isShort = typeof token === 'string' && token.length <= MAX_TOKEN_LENGTH;
  if (token === undefined || isShort || Number.isInteger(token)) return token as string | number | undefined;
  throw new ToolcribError(
    'invalid_params',
    `"params._meta.progressToken" must be a whole number or a string of at most ${MAX_TOKEN_LENGTH} characters.`,
  );
}

/** Reads a log level from a parameter or a `_meta` key. */
export function readLogLevel(level: unknown): ClientLogLevel {
  const known = logLevels.find((name) => name === level);
  if (known) return known;
  throw new ToolcribError('invalid_params', `The log level must be one of ${logLevels.join(', ')}.`);
}

/** The log level of one modern request; without one, the client gets no log messages. */
export function readRequestLogLevel(params: JsonObject | undefined): ClientLogLevel | undefined {
  const level = metaOf(params)[metaKeys.logLevel];
  return level === undefined ? undefined : readLogLevel(level);
}

/** The answers and the state of a retried request: those of this round, and the sealed state of earlier ones. */
export interface Resumption {
  readonly responses: JsonObject;
  readonly state: string | undefined;
}

/** Reads the answers and the state of a retried request; `undefined` for a first request. */
export function readResumption(params: JsonObject | undefined): Resumption | undefined {
  const responses = params?.['inputResponses'];
  const state = params?.['requestState'];
  if (responses === undefined && state === undefined) return undefined;
  if (responses !== undefined && !isObject(responses)) {
    throw new ToolcribError(
      'invalid_params',
      '"params.inputResponses" must be an object with one answer per question.',
    );
  }
  if (state !== undefined && typeof state !== 'string')
    throw new ToolcribError('invalid_params', '"params.requestState" must be text.');
  return { responses: responses ?? {}, state };
}

/** Reads the id of a task. */
export function readTaskId(params: JsonObject | undefined): string {
  const id = params?.['taskId'];
  if (typeof id !== 'string')
    throw new ToolcribError('invalid_params', '"params.taskId" must be the id of a task.');
  return id;
}

function objectAt(params: JsonObject | undefined, key: string): JsonObject {
  const value = params?.[key];
  if (!isObject(value)) throw new ToolcribError('invalid_params', `"params.${key}" must be an object.`);
  return value;
}
