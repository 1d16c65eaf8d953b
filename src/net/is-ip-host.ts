import { isIP } from 'node:net';

/** Whether a parsed URL's host is an address rather than a name. */
export function isIpHost(hostname: string): boolean {
  return hostname.startsWith('[') || isIP(hostname) !== 0;
}
