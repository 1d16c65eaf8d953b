import type { ToolContext } from '../../core/context.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { validatorOf } from '../../schema/validator.ts';
import type { OutboundClient } from '../../net/create-outbound-client.ts';
import { OutboundError, type OutboundResponse } from '../../net/outbound.ts';
import { doubt, readApiAnswer, readRefusal, type AnswerParts } from './answer.ts';
import type { OwnParts } from './credential.ts';
import { isRepeatable, type OpenApiOperation } from './operation.ts';
import type { OpenApiSettings } from './options.ts';
import { buildRequest, type BuiltRequest } from './request.ts';
import type { ApiServer } from './server.ts';
import type { AnswerShape } from './shapes.ts';

/** The operation to call and its server. */
export interface ApiTarget {
  readonly operation: OpenApiOperation;
  readonly server: ApiServer;
  readonly shape: AnswerShape | undefined;
}

/** Calls an operation; returns the result of the handler. */
export type ApiCall = (
  target: ApiTarget,
  args: Readonly<Record<string, unknown>>,
  context: ToolContext,
) => Promise<unknown>;

/** What calls are made with. */
export interface ApiCallParts {
  readonly own: OwnParts;
  readonly settings: OpenApiSettings;
}

/** Makes a function that calls the operations of one API. */
export function createApiCall(way: Pick<OutboundClient, 'request'>, parts: ApiCallParts): ApiCall {
  const { own, settings } = parts;
  return async ({ operation, server, shape }, args, { signal }) => {
    const built = buildRequest(operation, args);
    const url = urlOf(built, server, own);
    const reading: AnswerParts = {
      maxBytes: settings.maxBytes,
      isRepeatable: isRepeatable(built.method),
      conceal: own.conceal,
    };
    let response: OutboundResponse;
    try {
      response = await way.request(url, {
        method: built.method,
        headers: { ...STANDARD_HEADERS, ...lowerCased(built.headers), ...own.headers },
        ...(built.body !== undefined && { body: built.body }),
        signal,
      });
    } catch (error) {
      return unanswered(error, reading);
    }
    if (response.status < 200 || response.status > 299) return readRefusal(response, reading);
    const answer = readApiAnswer(response, reading);
    if ('error' in answer) return answer;
    // Always a complete result, so that a response that looks like a result or an error is not taken for one.
    return { content: answer.content, ...structuredOf(answer.value, shape) };
  };
}

const STANDARD_HEADERS = { accept: 'application/json, */*;q=0.5', 'user-agent': 'toolcrib' };

function urlOf({ path, query }: BuiltRequest, { origin, basePath }: ApiServer, own: OwnParts): string {
  // Some servers read `API_KEY` and `api_key[]` as `api_key`.
  const isOwn = ([name]: readonly [string, string]): boolean =>
    decodeURIComponent(name).split('[')[0]!.toLowerCase() === own.names.query;
  if (query.some(isOwn))
    throw new ToolcribError('invalid_arguments', 'Invalid arguments: a query parameter has a reserved name.');
  const pairs = [...query, ...own.query].map((pair) => pair.join('='));
  return `${origin}${basePath}${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

function lowerCased(headers: BuiltRequest['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** The response as structured content, as far as it matches its description; the text beside it is always complete. */
function structuredOf(value: unknown, shape: AnswerShape | undefined): { structuredContent?: unknown } {
  if (!shape) return isObject(value) ? { structuredContent: value } : {};
  const whole = shape.isWrapped && value !== undefined ? { result: value } : value;
  if (!isObject(whole)) return { structuredContent: {} };
  const outcome = validatorOf(shape.schema)(whole);
  if (!('issues' in outcome)) return { structuredContent: whole };
  const wrong = new Set(outcome.issues.map(({ path }) => path?.[0]));
  const kept = Object.fromEntries(Object.entries(whole).filter(([name]) => !wrong.has(name)));
  const isGood = !('issues' in validatorOf(shape.schema)(kept));
  return { structuredContent: isGood ? kept : {} };
}

function unanswered(
  error: unknown,
  parts: AnswerParts,
): { readonly error: string; readonly message: string } {
  if (!(error instanceof OutboundError)) throw error;
  const { reason, message } = error;
  switch (reason) {
    case 'cancelled':
      throw new ToolcribError('cancelled', 'The call was cancelled.', { cause: error });
    case 'timed_out':
      throw new ToolcribError('timed_out', `The API did not answer in time.${doubt(parts)}`, {
        cause: error,
      });
    case 'failed':
      throw new ToolcribError(
        'upstream_unavailable',
        `The API cannot be reached now; try again later.${doubt(parts)}`,
        {
          cause: error,
        },
      );
    case 'invalid_url':
    case 'refused_request':
    case 'refused_host':
    case 'refused_address':
    case 'refused_redirect':
    case 'not_https':
    case 'encoded':
    case 'too_large':
      return { error: 'The API cannot be called like this', message };
  }
}
