import { isObject } from '../../base/json.ts';
import { ToolcribError } from '../../base/errors.ts';
import { parseJson } from '../../base/parse-json.ts';
import { describeFailure, isReset } from '../../client/http/failure.ts';
import type { Reply } from '../../client/http/reply.ts';
import { cleanText } from '../../observe/clean-text.ts';
import { askedWaitMs } from './asked-wait.ts';
import type { Endpoint } from './endpoint.ts';

/** Why an attempt came to nothing, and whether another one may do better. */
export class Setback extends Error {
  readonly error: ToolcribError;
  readonly isPassing: boolean;
  /** How long the endpoint wants to be left alone. */
  readonly waitMs: number | undefined;

  constructor(
    error: ToolcribError,
    { isPassing, waitMs }: { isPassing: boolean; waitMs?: number | undefined },
  ) {
    super(error.message);
    this.error = error;
    this.isPassing = isPassing;
    this.waitMs = waitMs;
  }
}

const MAX_WORDS = 500;
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 409, 429, 500, 502, 503, 504, 529]);
const PASSING_KIND = /overloaded|rate_limit|server_error|api_error|timeout|unavailable/;
const QUOTA = /insufficient_quota|billing|credit balance/i;
const TOO_LONG =
  /context_length_exceeded|exceed_context_size|prompt is too long|maximum context length|context (?:length|window|size)|too many tokens|request_too_large/i;

/** The error for a failed connection. */
export function connectionSetback(error: Error, endpoint: Endpoint): Setback {
  const { code, message, cause } = describeFailure(error, endpoint.label);
  const remedy = 'See whether it is running, and whether the base URL of the model is right.';
  const described = new ToolcribError(code, `${message} ${remedy}`, { cause });
  return new Setback(described, { isPassing: isReset(error) });
}

/** The error for an answer that is not an event stream. */
export function answerSetback(reply: Reply, endpoint: Endpoint): Setback {
  const { status } = reply;
  const told = wordsIn(reply.takeBody().toString('utf8', 0, 65_536), endpoint);
  if (status < 300) return new Setback(notAStream(reply, endpoint), { isPassing: false });
  const should = reply.header('x-should-retry');
  const waitMs = askedWaitMs((name) => reply.header(name), endpoint.clock.now());
  const isPassing =
    should === undefined ? PASSING_STATUS.has(status) && !QUOTA.test(told.all) : should === 'true';
  return new Setback(errorOf(status, told, { endpoint, waitMs }), { isPassing, waitMs });
}

/** The error for an error message in place of an event. */
export function eventSetback(event: Readonly<Record<string, unknown>>, endpoint: Endpoint): Setback {
  const told = wordsOf(event, endpoint);
  const isPassing = PASSING_KIND.test(told.kind) && !QUOTA.test(told.all);
  const status = /rate_limit/.test(told.kind) ? 429 : isPassing ? 500 : 400;
  return new Setback(errorOf(status, told, { endpoint, waitMs: undefined }), { isPassing });
}

/** The error for an answer that ended before it was complete. */
export function brokenOff({ label }: Endpoint): ToolcribError {
  return new ToolcribError('invalid_answer', `${label} broke off in the middle of its answer.`);
}

interface Told {
  /** The text of the endpoint, for people. */
  readonly words: string;
  readonly kind: string;
  readonly all: string;
}

interface Circumstances {
  readonly endpoint: Endpoint;
  readonly waitMs: number | undefined;
}

function errorOf(status: number, told: Told, { endpoint, waitMs }: Circumstances): ToolcribError {
  const { label, name } = endpoint;
  const data = { status, ...(waitMs !== undefined && { retryAfterMs: waitMs }) };
  if (status === 401 || status === 403) return keyError(status, endpoint);
  if (status >= 300 && status < 400)
    return new ToolcribError('invalid_setup', `${label} redirects elsewhere; set the base URL it leads to.`, {
      data,
    });
  if (status === 413 || (status < 500 && TOO_LONG.test(told.all)))
    return new ToolcribError('too_large', `The conversation is too long for ${name}.${told.words}`, {
      data: { ...data, reason: 'context_too_long' },
    });
  if (status === 404 || /model_not_found|unknown model|model .*(?:not found|does not exist)/i.test(told.all))
    return new ToolcribError(
      'invalid_setup',
      `${label} knows no model ${name}, or has no such API; check the model's name and the base URL.${told.words}`,
      { data },
    );
  if (QUOTA.test(told.all))
    return new ToolcribError('refused', `${label} wants the account to be paid for.${told.words}`, { data });
  if (status === 429)
    return new ToolcribError('rate_limited', `${label} takes no more for now.${told.words}`, { data });
  if (status >= 500)
    return new ToolcribError(
      'upstream_unavailable',
      `${label} answered with status ${status}.${told.words}`,
      { data },
    );
  return new ToolcribError('remote_error', `${label} refuses the request (status ${status}).${told.words}`, {
    data,
  });
}

// Texts of endpoints about a key often repeat a part of it, so they are left out.
function keyError(status: number, { label, keyVariable, hasKey }: Endpoint): ToolcribError {
  const remedy = hasKey
    ? `Set ${keyVariable} to a key that is valid there and may use this model.`
    : `Set ${keyVariable}, or name the variable of the key in the agent's file.`;
  const problem = hasKey ? 'refuses the key' : 'wants a key';
  const code = status === 403 ? 'refused' : 'needs_sign_in';
  return new ToolcribError(code, `${label} ${problem}. ${remedy}`, { data: { status, remedy } });
}

function notAStream(reply: Reply, { label, url }: Endpoint): ToolcribError {
  const type = cleanText(reply.header('content-type') ?? 'nothing').slice(0, 80);
  return new ToolcribError(
    'invalid_answer',
    `${label} answers ${url.pathname} with ${type} instead of a stream of events; check the base URL and the API.`,
  );
}

function wordsIn(body: string, endpoint: Endpoint): Told {
  let value: unknown;
  try {
    value = parseJson(body);
  } catch {
    return { words: '', kind: '', all: '' };
  }
  return wordsOf(Array.isArray(value) ? value[0] : value, endpoint);
}

// The three APIs, and the servers that imitate them, put the same three things in slightly different places.
function wordsOf(value: unknown, endpoint: Endpoint): Told {
  const outer = isObject(value) ? value : {};
  const inner = isObject(outer['error']) ? outer['error'] : outer;
  const message = textOf(inner['message']) || textOf(outer['error']) || textOf(outer['detail']);
  const kind = `${textOf(inner['type'])} ${textOf(inner['code'])}`;
  const words = cleanText(endpoint.redact(message)).replaceAll(/\s+/g, ' ').trim().slice(0, MAX_WORDS);
  return { words: words === '' ? '' : ` It says: ${words}`, kind, all: `${kind} ${message}` };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 10_000) : '';
}
