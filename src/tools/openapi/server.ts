import { ToolcribError } from '../../base/errors.ts';
import { asList } from '../../base/json.ts';
import { createOutboundClient, type OutboundClient } from '../../net/create-outbound-client.ts';
import { OutboundError, type OutboundOptions } from '../../net/outbound.ts';
import { isIpHost } from '../../net/is-global-address.ts';
import { prepareRequest } from '../../net/prepare-request.ts';
import { asObject, asText, unusable, type OpenApiDocument } from './document.ts';
import type { OpenApiSettings } from './options.ts';
import { withoutEnd } from '../without-end.ts';

/** The address of an API: its origin, and the prefix of its paths. */
export interface ApiServer {
  readonly origin: string;
  readonly basePath: string;
}

/** How a server is reached, instead of the usual resolver and CAs. */
export type OpenApiParts = Pick<OutboundOptions, 'resolve' | 'ca' | 'isAllowed'>;

/** The addresses of an API: the default one, and the origins that operations may name. */
export interface ApiServers {
  readonly main: ApiServer;
  readonly origins: ReadonlySet<string>;
}

/** Finds the addresses of an API; throws `invalid_setup` for one that can never be called. */
export function findServers(document: OpenApiDocument, settings: OpenApiSettings): ApiServers {
  const main = findMain(document, settings);
  const others = settings.otherServers.map((text) => {
    const other = parseServer(text);
    if (!other)
      throw new ToolcribError(
        'invalid_setup',
        '"otherServers" must hold addresses such as https://uploads.example.',
      );
    return reachable(other, settings).origin;
  });
  return { main, origins: new Set([main.origin, ...others]) };
}

function findMain(document: OpenApiDocument, settings: OpenApiSettings): ApiServer {
  const text = settings.server ?? filledIn(document.servers[0]);
  const server = parseServer(text);
  if (!server) {
    throw new ToolcribError(
      'invalid_setup',
      settings.server === undefined
        ? 'The description names no whole address of a server; set "server", such as https://api.example/v1.'
        : '"server" must be an address such as https://api.example/v1, without a query or a password.',
    );
  }
  return reachable(server, settings);
}

function reachable(server: ApiServer, { trustServer }: OpenApiSettings): ApiServer {
  if (trustServer) return server;
  const { protocol, hostname } = new URL(server.origin);
  if (protocol === 'http:') throw untrusted('is reached over plain http');
  if (isIpHost(hostname)) throw untrusted('is an address instead of a name');
  return server;
}

/** The server of an operation, which may name its own; throws if the operator has not listed it. */
export function ownServer(described: unknown, { main, origins }: ApiServers): ApiServer {
  if (described === undefined) return main;
  const text = filledIn(described);
  const server = text.startsWith('/') ? parseServer(`${main.origin}${text}`) : parseServer(text);
  if (server && origins.has(server.origin)) return server;
  throw unusable('it is served from another address; to offer it, add that address to "otherServers"');
}

/** Makes a client for the servers of an API, and for nothing else. */
export function createWay(
  { origins }: ApiServers,
  settings: OpenApiSettings,
  parts: OpenApiParts,
): OutboundClient {
  const urls = Array.from(origins, (origin) => new URL(origin));
  return createOutboundClient({
    hosts: settings.trustServer ? [] : urls.map(({ hostname }) => hostname),
    trustedOrigins: settings.trustServer ? [...origins] : [],
    ports: urls.map(({ port }) => (port === '' ? 443 : Number(port))),
    timeoutMs: settings.timeoutSeconds * 1000,
    maxBytes: settings.maxBytes,
    ...parts,
  });
}

/** Refuses headers with which every call would fail. */
export function checkOwnHeaders(
  { main: { origin } }: ApiServers,
  headers: Readonly<Record<string, string>>,
): void {
  try {
    prepareRequest(new URL(origin), { headers });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new ToolcribError('invalid_setup', error.message, { cause: error });
  }
}

function untrusted(what: string): ToolcribError {
  const remedy = 'name it by https and a host name, or set "trustServer: true" if it is yours';
  return new ToolcribError('invalid_setup', `The server ${what}; ${remedy}.`);
}

function parseServer(text: string): ApiServer | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const { origin, pathname, search, hash, username, password } = new URL(text);
  if (search + hash + username + password !== '') return undefined;
  return { origin, basePath: withoutEnd(pathname, '/') };
}

// Variables in the URL of a server get their defaults, as the author intends.
function filledIn(described: unknown): string {
  const { url, variables } = asObject(described);
  return asText(url).replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = asObject(asObject(variables)[name]);
    return asText(variable['default']) || asText(asList(variable['enum'])[0]) || whole;
  });
}
