import { BlockList, isIP } from 'node:net';
import { ToolcribError } from '../base/errors.ts';
import { isLoopback } from '../base/loopback.ts';

/** The proxies that connections go through, by the scheme of the address that is asked for. */
export interface Proxies {
  /** For https addresses, such as `http://proxy.example:3128`; a user and a password may be in it. */
  readonly https?: string;
  /** For http addresses. */
  readonly http?: string;
  /** What is reached directly: names with everything below them, addresses, ranges as `10.0.0.0/8`, or `*`. */
  readonly bypass?: readonly string[];
}

/** The proxies that the usual variables name: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, or in lower case. */
export function environmentProxies(env: Readonly<Record<string, string | undefined>>): Proxies {
  const variable = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined;
  const https = variable('HTTPS_PROXY');
  // Web servers set HTTP_PROXY from a header of the request in programs that they start.
  const http = env['REQUEST_METHOD'] === undefined ? variable('HTTP_PROXY') : env['http_proxy'];
  return {
    ...(https !== undefined && { https }),
    ...(http !== undefined && { http }),
    bypass: (variable('NO_PROXY') ?? '').split(/[\s,]+/).filter((entry) => entry !== ''),
  };
}

/** The proxy for an address; none for this machine and for what is reached directly. */
export function proxyFor(url: URL, { https, http, bypass = [] }: Proxies): URL | undefined {
  const given = url.protocol === 'https:' ? https : http;
  if (given === undefined || isThisMachine(url.hostname)) return undefined;
  return bypass.some((entry) => isMeant(entry, url)) ? undefined : readProxy(given);
}

function readProxy(given: string): URL {
  const text = given.includes('://') ? given : `http://${given}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy && /^https?:$/.test(proxy.protocol) && proxy.hostname !== '') return proxy;
  throw new ToolcribError(
    'invalid_setup',
    'A proxy is named as http://host:port or https://host:port; correct the option or the variable that names it.',
  );
}

function isThisMachine(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  return isLoopback(name) || name.endsWith('.localhost');
}

// As curl and Go read it: a name matches itself and everything below it, with or without a port.
function isMeant(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === '*') return true;
  const host = hostname.replaceAll(/[[\]]/g, '').replace(/\.$/, '');
  if (entry.includes('/')) return isInRange(entry, host);
  const [, bracketed, plain = '', wanted] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [
    '',
    entry,
  ];
  const actual = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  if (wanted !== undefined && wanted !== actual) return false;
  const name = (bracketed ?? plain).toLowerCase().replace(/^\*?\./, '');
  return name !== '' && (host === name || (isIP(host) === 0 && host.endsWith(`.${name}`)));
}

function isInRange(range: string, host: string): boolean {
  const [address = '', length = ''] = range.split('/');
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  const isRange =
    isIP(address) > 0 && /^\d{1,3}$/.test(length) && Number(length) <= (family === 'ipv6' ? 128 : 32);
  if (!isRange || isIP(host) !== isIP(address)) return false;
  const list = new BlockList();
  list.addSubnet(address, Number(length), family);
  return list.check(host, family);
}
