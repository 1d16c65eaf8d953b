import { lookup as resolve, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Pool } from 'undici';
import { ToolcribError } from '../../base/errors.ts';
import { isGlobalAddress } from '../../net/is-global-address.ts';
import { isIpHost } from '../../net/is-global-address.ts';
import type { HttpOptions } from '../options.ts';

/** Opens connections to one origin; loaded with the first, because it takes as long as the rest of a client. */
export async function openPool(url: URL, options: HttpOptions, connectMs: number): Promise<Pool> {
  checkAddress(url, options);
  const { default: PoolClass } = await import('undici/lib/dispatcher/pool.js');
  return new PoolClass(url.origin, {
    connections: options.maxConnections ?? 128,
    // Limits of time are kept for all requests together.
    headersTimeout: 0,
    maxHeaderSize: 16_384,
    connect: {
      timeout: connectMs,
      ...(options.ca !== undefined && { ca: options.ca }),
      ...options.certificate,
      ...(options.addresses === 'public' && { lookup: lookupPublic }),
    },
  });
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
