import { checkUrl } from './check-url.ts';
import { findAddresses } from './find-addresses.ts';
import {
  OutboundError,
  type Fetch,
  type OutboundOptions,
  type OutboundRequest,
  type OutboundResponse,
} from './outbound.ts';
import { followRedirect, leadsElsewhere } from './follow-redirect.ts';
import { readRules, type OutboundRules } from './outbound-rules.ts';
import { prepareRequest, type PreparedRequest } from './prepare-request.ts';
import { sendOnce } from './send-once.ts';
import { withinTime } from './within-time.ts';

/** Sends requests only to the hosts its options allow. */
export interface OutboundClient {
  /** Sends a request; a body over the limit is returned cut. */
  request(url: string, request?: OutboundRequest): Promise<OutboundResponse>;
  /** The same with the interface of the standard `fetch`; a body over the limit is an error. */
  readonly fetch: Fetch;
}

/** Makes a client that checks every request and every redirect in full before a connection is opened. */
export function createOutboundClient(options: OutboundOptions): OutboundClient {
  const rules = readRules(options);
  const request: OutboundClient['request'] = async (url, outbound = {}) => {
    const first = prepareRequest(checkUrl(url, rules), outbound);
    const timeoutMs = Math.min(outbound.timeoutMs ?? Infinity, rules.timeoutMs);
    return withinTime(timeoutMs, outbound.signal, (stop) => followAll(first, rules, stop));
  };
  return { request, fetch: async (url, init) => toResponse(await request(url, init)) };
}

async function followAll(
  first: PreparedRequest,
  rules: OutboundRules,
  stop: AbortSignal,
): Promise<OutboundResponse> {
  let current = first;
  for (let redirects = 0; ; redirects++) {
    const response = await hop(current, { rules, stop, isFirst: redirects === 0 });
    if (!leadsElsewhere(response)) return response;
    if (redirects === rules.maxRedirects) {
      throw new OutboundError(
        'refused_redirect',
        'The host redirects too often; ask for the address it leads to.',
      );
    }
    current = followRedirect(current, response, rules);
  }
}

interface Way {
  readonly rules: OutboundRules;
  readonly stop: AbortSignal;
  readonly isFirst: boolean;
}

async function hop(request: PreparedRequest, { rules, stop, isFirst }: Way): Promise<OutboundResponse> {
  try {
    const proxy = rules.proxyFor(request.url);
    const addresses = proxy ? [] : await findAddresses(request.url, rules, stop);
    return await sendOnce(request, { addresses, proxy, rules, stop });
  } catch (error) {
    const isRefused = error instanceof OutboundError && error.reason === 'refused_address';
    if (isFirst || !isRefused) throw error;
    throw new OutboundError('refused_redirect', `The host redirects: ${error.message}`, error);
  }
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse({ status, headers, body, isCut }: OutboundResponse): Response {
  if (isCut) throw new OutboundError('too_large', 'The response is longer than the limit; ask for less.');
  return new Response(WITHOUT_BODY.has(status) ? null : body, { status, headers: { ...headers } });
}
