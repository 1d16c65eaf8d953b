import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { rootCertificates } from 'node:tls';
import { ToolcribError } from '../base/errors.ts';
import { leadsElsewhere } from './follow-redirect.ts';
import { OutboundError, type OutboundResponse } from './outbound.ts';
import type { OutboundRules } from './outbound-rules.ts';
import type { PreparedRequest } from './prepare-request.ts';

/** How one request reaches its host. */
export interface RequestRoute {
  /** Checked addresses; the connection goes to one of these and nowhere else. */
  readonly addresses: readonly string[];
  /** Asked for the connection instead. */
  readonly proxy?: URL | undefined;
  readonly rules: OutboundRules;
  readonly stop: AbortSignal;
}

const MAX_HEADER_BYTES = 16_384;

/** Sends one request over a connection of its own and reads the response up to the limit. */
export async function sendOnce(request: PreparedRequest, route: RequestRoute): Promise<OutboundResponse> {
  const { rules, stop } = route;
  stop.throwIfAborted();
  const way = await wayOf(request, route);
  const sent = open(request, { ...connection(request.url, route), ...way.options });
  const halt = (): void => void sent.destroy(stop.reason as Error);
  stop.addEventListener('abort', halt, { once: true });
  try {
    const message = await answerOf(sent, request.body);
    return await readAnswer(message, rules.maxBytes);
  } catch (error) {
    throw stop.aborted ? (stop.reason as Error) : explain(error);
  } finally {
    stop.removeEventListener('abort', halt);
    sent.destroy();
    way.end();
  }
}

interface OpenWay {
  readonly options: Pick<RequestOptions, 'agent' | 'createConnection'>;
  readonly end: () => void;
}

// One agent or tunnel per request: no connection is kept open or shared.
async function wayOf({ url }: PreparedRequest, { proxy, rules }: RequestRoute): Promise<OpenWay> {
  if (!proxy) {
    const agent = url.protocol === 'https:' ? new HttpsAgent() : new HttpAgent();
    return { options: { agent }, end: () => agent.destroy() };
  }
  const { openTunnel } = await import('./open-tunnel.ts');
  const ca = rules.ca === undefined ? undefined : [...rootCertificates, rules.ca];
  try {
    const socket = await openTunnel(url, { proxy, timeoutMs: rules.timeoutMs, ca });
    return { options: { createConnection: () => socket }, end: () => socket.destroy() };
  } catch (error) {
    throw explain(error);
  }
}

function open({ url, method, headers, body }: PreparedRequest, options: RequestOptions): ClientRequest {
  const hasLength = body !== undefined || method === 'POST' || method === 'PUT' || method === 'PATCH';
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return start({
    ...options,
    method,
    headers: {
      ...headers,
      host: url.host,
      'accept-encoding': 'identity',
      connection: 'close',
      ...(hasLength && { 'content-length': body?.byteLength ?? 0 }),
    },
  });
}

function connection(url: URL, { addresses, rules }: RequestRoute): RequestOptions {
  const hostname = url.hostname.replaceAll(/[[\]]/g, '');
  return {
    protocol: url.protocol,
    hostname,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port,
    path: url.pathname + url.search,
    lookup: toLookup(addresses),
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
    rejectUnauthorized: true,
    ...(isIP(hostname) === 0 && { servername: hostname }),
    ...(rules.ca !== undefined && { ca: [...rootCertificates, rules.ca] }),
  };
}

// Resolves any name to the checked addresses.
function toLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, callback) => {
    if (all) callback(null, found);
    else callback(null, found[0]!.address, found[0]!.family);
  };
}

function answerOf(sent: ClientRequest, body: Uint8Array | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.on('close', () => reject(new Error('The connection closed before the response arrived.')));
    sent.end(body);
  });
}

async function readAnswer(message: IncomingMessage, maxBytes: number): Promise<OutboundResponse> {
  const status = message.statusCode ?? 0;
  if (status < 200 || status > 599)
    throw new OutboundError('failed', 'The response of the host is not HTTP.');
  const headers = headersOf(message);
  if (leadsElsewhere({ status, headers })) return { status, headers, body: new Uint8Array(), isCut: false };
  refuseEncoded(headers);
  return { status, headers, ...(await readBody(message, maxBytes)) };
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}

// Bodies are never decompressed: a small response could become a huge one.
function refuseEncoded(headers: Readonly<Record<string, string>>): void {
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  const transfer = (headers['transfer-encoding'] ?? '').trim().toLowerCase();
  if ((encoding === '' || encoding === 'identity') && (transfer === '' || transfer === 'chunked')) return;
  throw new OutboundError(
    'encoded',
    'The host compressed its response although it was asked not to, so it cannot be read.',
  );
}

async function readBody(
  message: IncomingMessage,
  maxBytes: number,
): Promise<Pick<OutboundResponse, 'body' | 'isCut'>> {
  const chunks: Uint8Array[] = [];
  let room = maxBytes;
  // Leaving the loop destroys the connection.
  for await (const chunk of message as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, room));
    if (chunk.length > room) return { body: Buffer.concat(chunks), isCut: true };
    room -= chunk.length;
  }
  return { body: Buffer.concat(chunks), isCut: false };
}

function explain(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  if (error instanceof ToolcribError) return new OutboundError('failed', error.message, error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'HPE_HEADER_OVERFLOW')
    return new OutboundError('failed', 'The headers of the response are too long.', error);
  if (/CERT|SELF_SIGNED|ALTNAME|^ERR_TLS|^ERR_SSL|UNABLE_TO/.test(code))
    return new OutboundError(
      'failed',
      'The host could not prove who it is: its certificate is not valid.',
      error,
    );
  return new OutboundError('failed', 'The connection to the host failed; try again later.', error);
}
