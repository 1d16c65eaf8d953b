import { isIP } from 'node:net';
import { OutboundError } from './outbound.ts';
import { isIpHost } from './is-global-address.ts';
import type { OutboundRules } from './outbound-rules.ts';
import { within } from '../base/within.ts';

/**
 * Resolves the host of a checked URL and refuses it if any address is not allowed. The connection uses these
 * addresses and does not resolve again.
 */
export async function findAddresses(
  { hostname, origin }: URL,
  rules: OutboundRules,
  stop: AbortSignal,
): Promise<readonly string[]> {
  // Only a trusted origin can have an address as its host here.
  if (isIpHost(hostname)) return [hostname.replaceAll(/[[\]]/g, '')];
  const addresses = await within(Infinity, stop, resolve(hostname, rules, stop));
  if (addresses.length === 0) throw notFound();
  const isOpen = rules.isTrusted(origin)
    ? (address: string) => isIP(address) !== 0
    : (address: string) => isIP(address) !== 0 && rules.isAllowed(address);
  if (addresses.every(isOpen)) return addresses;
  throw new OutboundError(
    'refused_address',
    'The host leads to an address that is not public; use another host.',
  );
}

async function resolve(
  hostname: string,
  rules: OutboundRules,
  stop: AbortSignal,
): Promise<readonly string[]> {
  try {
    return await rules.resolve(hostname, stop);
  } catch (error) {
    throw notFound(error);
  }
}

function notFound(cause?: unknown): OutboundError {
  return new OutboundError('failed', 'The host could not be found; check its name.', cause);
}
