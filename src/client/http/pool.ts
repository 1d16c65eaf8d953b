import { lookup as resolve, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { buildConnector, Pool } from 'undici';
import { ToolcribError } from '../../base/errors.ts';
import { isGlobalAddress, isIpHost } from '../../net/is-global-address.ts';
import { proxyFor } from '../../net/proxies.ts';
import type { HttpOptions } from '../options.ts';

/** Connections at one time unless that is set. */
export const MAX_CONNECTIONS = 128;

/** Opens connections to one origin; loaded with the first, because it takes as long as the rest of a client. */
export async function openPool(url: URL, options: HttpOptions, connectMs: number): Promise<Pool> {
  checkAddress(url, options);
  const { default: PoolClass } = await import('undici/lib/dispatcher/pool.js');
  return new PoolClass(url.origin, {
    connections: options.maxConnections ?? MAX_CONNECTIONS,
    // Limits of time are kept for all requests together.
    headersTimeout: 0,
    maxHeaderSize: 16_384,
    connect: (options.proxies && throughProxy(url, options, connectMs)) ?? {
      timeout: connectMs,
      ...(options.ca !== undefined && { ca: options.ca }),
      ...options.certificate,
      ...(options.addresses === 'public' && { lookup: lookupPublic }),
    },
  });
}

// The proxy looks the name up, so which address it leads to is its affair.
function throughProxy(
  url: URL,
  { proxies = {}, ca, certificate }: HttpOptions,
  timeoutMs: number,
): buildConnector.connector | undefined {
  const proxy = proxyFor(url, proxies);
  if (!proxy) return undefined;
  return (_options, done) => {
    void import('../../net/open-tunnel.ts')
      .then(({ openTunnel }) => openTunnel(url, { proxy, timeoutMs, ca, certificate }))
      .then(
        (socket) => done(null, socket),
        (error: unknown) => done(error as Error, null),
      );
  };
}

function checkAddress({ protocol, hostname }: URL, { addresses }: HttpOptions): void {
  if (addresses !== 'public') return;
  if (protocol !== 'https:')
    throw new ToolcribError('invalid_setup', 'Only https addresses may be reached here.');
  if (isIpHost(hostname) && !isGlobalAddress(hostname.replaceAll(/[[\]]/g, ''))) throw notPublic();
}

// The connection goes to the addresses that were looked at: it is not resolved a second time.
const lookupPublic: LookupFunction = (hostname, options, done) => {
  resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error) return done(error, []);
    if (!found.every(({ address }) => isGlobalAddress(address))) return done(notPublic(), []);
    if (options.all === true) return done(null, found);
    const [first] = found;
    return done(null, first!.address, first!.family);
  });
};

function notPublic(): ToolcribError {
  return new ToolcribError('refused', 'The server is at an address that is not public.');
}
