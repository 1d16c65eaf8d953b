import { TextDecoder } from 'node:util';
import { z } from 'zod';
import { systemClock, type Clock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import { defineTool, type Tool } from '../core/tool.ts';
import { createOutboundClient, type OutboundClient } from '../net/create-outbound-client.ts';
import { OutboundError, type OutboundOptions, type OutboundResponse } from '../net/outbound.ts';
import { hostMatcher, readOrigin } from '../net/outbound-rules.ts';
import { cannotBeSet, checkGivenNames, checkHeaders, foldedHeader } from '../net/prepare-request.ts';
import { concealSecrets, secretsInHeader, type Conceal } from './conceal-secrets.ts';
import { namingOf } from './naming-options.ts';
import { fetchApiDataOptions, type FetchApiDataOptions } from './fetch-api-data-options.ts';

/** What `fetch_api_data` needs beside its options; the system's own unless given. */
export interface FetchApiDataParts {
  readonly clock?: Clock;
  readonly network?: Pick<OutboundOptions, 'resolve' | 'isAllowed' | 'ca'>;
}

/** The `fetch_api_data` tool: requests only hosts the operator lists. */
export function fetchApiDataTool(options: FetchApiDataOptions, parts: FetchApiDataParts = {}): Tool {
  const settings = fetchApiDataOptions.parse(options, { jitless: true });
  const { clock = systemClock } = parts;
  const clientOf = clientsByTenant(settings, parts);
  const merge = headerMerger(settings);
  const answering = { maxBytes: settings.maxBytes, clock, conceal: concealSecrets(fixedSecrets(settings)) };
  const canPost = settings.methods.includes('POST');
  return defineTool(
    {
      title: 'Fetch API data',
      description: describe(settings),
      ...namingOf(settings),
      input: inputSchema(settings),
      output: outputSchema,
      annotations: {
        readOnlyHint: !canPost,
        destructiveHint: canPost,
        idempotentHint: false,
        openWorldHint: true,
      },
    },
    async ({ url, method, headers, timeout, body }, { tenant, signal }) => {
      try {
        const response = await clientOf(tenant.id).request(url, {
          method,
          headers: merge(headers, body),
          ...(body !== undefined && { body }),
          timeoutMs: timeout * 1000,
          signal,
        });
        return toAnswer(response, answering);
      } catch (error) {
        if (error instanceof OutboundError) return toEnvelope(error);
        throw error;
      }
    },
  );
}

type Settings = z.output<typeof fetchApiDataOptions>;

const outputSchema = z.object({
  status_code: z.int().min(200).max(599).describe('The HTTP status.'),
  content_type: z.string().nullable().describe('The content type the host names, if it names one.'),
  response: z.string().describe('The body as text.'),
  is_json: z.boolean().describe('Whether the host calls the body JSON.'),
  timestamp: z.string().describe('When the answer had arrived, ISO 8601.'),
  truncated: z
    .literal(true)
    .exactOptional()
    .describe('Set when the body was too long and its end is missing.'),
});

function inputSchema({ methods, timeoutSeconds }: Settings) {
  const allowed: ReadonlySet<string> = new Set(methods);
  const whole = z.strictObject({
    url: z.string().describe('API endpoint URL (HTTPS only).'),
    // Not an enum, which would refuse lower case before it is converted.
    method: z
      .string()
      .toUpperCase()
      .refine((method) => allowed.has(method), `Expected ${methods.join(' or ')}`)
      .default(methods.includes('GET') ? 'GET' : 'POST')
      .meta({ description: 'HTTP method.', enum: methods }),
    headers: z.record(z.string(), z.string()).default({}).describe('HTTP headers to send, by name.'),
    timeout: z
      .int()
      .min(1)
      .max(timeoutSeconds)
      .default(Math.min(30, timeoutSeconds))
      .describe('Longest time to wait for the whole answer, in seconds.'),
    body: z
      .string()
      .max(100_000)
      .exactOptional()
      .describe('Text to send with POST; it counts as JSON unless a content-type header says otherwise.'),
  });
  // Without that argument the handler finds no body.
  return methods.includes('POST') ? whole : (whole.omit({ body: true }) as unknown as typeof whole);
}

function describe({ methods, hosts, hostsByTenant }: Settings): string {
  // Other tenants must not learn which hosts one tenant can reach.
  const isSame = Object.keys(hostsByTenant).length === 0;
  const where = isSame ? ` (${hosts.slice(0, 20).join(', ')}${hosts.length > 20 ? ', ...' : ''})` : '';
  const sends = methods.includes('POST')
    ? ' Can also send data with POST, which may change things there.'
    : '';
  return (
    `Fetches data from external APIs over HTTPS, from permitted hosts only${where}.${sends} ` +
    'Returns status_code, content_type, the body as text in response, is_json and a timestamp; a body that is too long is cut and truncated is set. ' +
    'Use it to read what an HTTP API offers.'
  );
}

function clientsByTenant(
  settings: Settings,
  { network }: FetchApiDataParts,
): (tenant: string) => OutboundClient {
  const origins = settings.trustedOrigins.map(readOrigin);
  const trustedHosts = new Set(origins.map(({ hostname }) => hostname));
  const lists = [settings.hosts, ...Object.values(settings.hostsByTenant)];
  const stray = origins.find(
    ({ hostname }) => !lists.some((hosts) => hostMatcher(hosts, trustedHosts)(hostname)),
  );
  if (stray) {
    throw new ToolcribError(
      'invalid_setup',
      `trustedOrigins names ${stray.origin}, but no list of hosts names ${stray.hostname}; add it to hosts, or leave it out of both.`,
    );
  }
  const clientFor = (hosts: readonly string[]): OutboundClient => {
    const isListed = hostMatcher(hosts, trustedHosts);
    return createOutboundClient({
      ...network,
      hosts,
      trustedOrigins: origins.filter(({ hostname }) => isListed(hostname)).map(({ origin }) => origin),
      ports: settings.ports,
      maxBytes: settings.maxBytes,
      timeoutMs: settings.timeoutSeconds * 1000,
    });
  };
  const standard = clientFor(settings.hosts);
  const own = new Map(Object.entries(settings.hostsByTenant).map(([id, hosts]) => [id, clientFor(hosts)]));
  return (tenant) => own.get(tenant) ?? standard;
}

type Headers = Readonly<Record<string, string>>;

function headerMerger({ headers: fixed, userAgent }: Settings): (given: Headers, body?: string) => Headers {
  const fixedNames = namesOf(fixed);
  const standard = fixedNames.has('user-agent') ? {} : { 'user-agent': userAgent };
  checkFixed({ ...standard, ...fixed });
  return (given, body) => {
    checkGivenNames(Object.keys(given));
    const givenNames = namesOf(given);
    // The same text as for a header that cannot be set, so that a refusal does not reveal the configured headers.
    const taken = [...givenNames].find((name) => fixedNames.has(name));
    if (taken !== undefined) throw new OutboundError('refused_request', cannotBeSet(taken));
    const saysType = givenNames.has('content-type') || fixedNames.has('content-type');
    return {
      ...(!givenNames.has('user-agent') && standard),
      ...(body !== undefined && !saysType && { 'content-type': 'application/json' }),
      ...given,
      ...fixed,
    };
  };
}

function namesOf(headers: Headers): ReadonlySet<string> {
  return new Set(Object.keys(headers).map(foldedHeader));
}

function checkFixed(headers: Headers): void {
  try {
    checkHeaders(headers);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new ToolcribError('invalid_setup', `headers or userAgent: ${error.message}`, { cause: error });
  }
}

// Not every configured header is a secret, and a short value is part of too many texts.
function fixedSecrets({ headers }: Settings): readonly string[] {
  return Object.values(headers)
    .flatMap(secretsInHeader)
    .filter(({ length }) => length >= 8);
}

interface Answering {
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly conceal: Conceal;
}

function toAnswer(
  { status, headers, body, isCut }: OutboundResponse,
  { maxBytes, clock, conceal }: Answering,
): z.output<typeof outputSchema> | { error: string; message: string } {
  const type = headers['content-type'] ?? null;
  const text = toText(body, { type, isCut });
  if (text.includes('\0')) {
    return { error: 'Request error', message: 'The answer is not text, so it cannot be shown.' };
  }
  const marker = `\n[Truncated: only the first ${maxBytes} bytes are here.]`;
  return {
    status_code: status,
    content_type: type && conceal(type).slice(0, 200),
    response: conceal(text, { isCut }) + (isCut ? marker : ''),
    is_json: type !== null && /^application\/(json|[\w.-]+\+json)\b/i.test(type),
    timestamp: new Date(clock.now()).toISOString(),
    ...(isCut && { truncated: true }),
  };
}

function toText(body: Uint8Array, { type, isCut }: { type: string | null; isCut: boolean }): string {
  const charset = /;\s*charset="?([\w-]+)/i.exec(type ?? '')?.[1] ?? 'utf-8';
  // A character that was cut in two is left out.
  return decoderFor(charset).decode(body, { stream: isCut });
}

function decoderFor(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

function toEnvelope({ reason, message }: OutboundError): { error: string; message?: string } {
  switch (reason) {
    case 'invalid_url':
      return { error: 'Invalid URL', message };
    case 'not_https':
      return { error: 'Only HTTPS URLs allowed' };
    case 'failed':
      return { error: 'Request failed', message };
    default:
      return { error: 'Request error', message };
  }
}
