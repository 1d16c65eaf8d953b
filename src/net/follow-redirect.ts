import { checkUrl } from './check-url.ts';
import { OutboundError, type OutboundResponse } from './outbound.ts';
import type { OutboundRules } from './outbound-rules.ts';
import type { PreparedRequest } from './prepare-request.ts';

type Answer = Pick<OutboundResponse, 'status' | 'headers'>;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

// Headers that do not identify the caller; another origin gets no others.
const HARMLESS_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
]);

/** Whether a response is a redirect. */
export function leadsElsewhere({ status, headers }: Answer): boolean {
  return REDIRECTS.has(status) && headers['location'] !== undefined;
}

/** The request that follows a redirect, checked like the first one. */
export function followRedirect(from: PreparedRequest, answer: Answer, rules: OutboundRules): PreparedRequest {
  const url = checkTarget(from.url, answer, rules);
  const dropsBody = becomesGet(from.method, answer.status);
  const headers = Object.entries(from.headers).filter(
    ([name]) =>
      (url.origin === from.url.origin || HARMLESS_HEADERS.has(name)) &&
      !(dropsBody && name.startsWith('content-')),
  );
  return {
    url,
    method: dropsBody ? 'GET' : from.method,
    headers: Object.fromEntries(headers),
    body: dropsBody ? undefined : from.body,
  };
}

function checkTarget(from: URL, { headers }: Answer, rules: OutboundRules): URL {
  try {
    const url = checkUrl(headers['location'] ?? '', rules, from);
    if (from.protocol === 'https:' && url.protocol !== 'https:') {
      throw new OutboundError('not_https', 'Only https URLs can be reached.');
    }
    return url;
  } catch (error) {
    const why = error instanceof OutboundError ? error.message : '';
    throw new OutboundError(
      'refused_redirect',
      `The host redirects to a place that is not allowed: ${why}`,
      error,
    );
  }
}

// Fetch standard, "HTTP-redirect fetch".
function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return (status === 301 || status === 302) && method === 'POST';
}
