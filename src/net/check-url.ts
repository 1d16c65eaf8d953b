import { OutboundError } from './outbound.ts';
import { isIpHost } from './is-global-address.ts';
import type { OutboundRules } from './outbound-rules.ts';

const MAX_URL_LENGTH = 2_048;

// Names of this machine or of cloud metadata services; the addresses behind them are refused too.
const REFUSED_NAMES =
  /^(localhost|.*\.localhost|metadata|metadata\.google\.internal|metadata\.goog|instance-data|instance-data\.ec2\.internal)$/;

/**
 * Parses a URL and refuses forbidden ones before anything is resolved or connected; `base` is the URL a redirect
 * comes from.
 */
export function checkUrl(text: string, rules: OutboundRules, base?: URL): URL {
  const url = parseUrl(text, base);
  // A blob URL has an origin too, but cannot be connected to.
  const isTrusted = /^https?:$/.test(url.protocol) && rules.isTrusted(url.origin);
  if (url.protocol !== 'https:' && !isTrusted) {
    throw new OutboundError('not_https', 'Only https URLs can be reached.');
  }
  checkShape(url, text);
  if (isTrusted) return url;
  checkHost(url, rules);
  return url;
}

function parseUrl(text: string, base: URL | undefined): URL {
  if (text.length > MAX_URL_LENGTH) throw tooLong();
  // The parser would drop or change these characters, so the checked URL would differ from the given one.
  if (/[\0-\x20\\\x7f]/.test(text) || !URL.canParse(text, base?.href)) throw invalid();
  const url = new URL(text, base?.href);
  const isHttp = url.protocol === 'https:' || url.protocol === 'http:';
  if (!base && isHttp && !/^https?:\/\/[^/]/i.test(text)) throw invalid();
  return url;
}

function checkShape(url: URL, text: string): void {
  if (url.href.length > MAX_URL_LENGTH) throw tooLong();
  const authority = /^(?:[^/?#]*:)?\/\/([^/?#]*)/.exec(text)?.[1] ?? '';
  if (url.username !== '' || url.password !== '' || authority.includes('@')) {
    throw new OutboundError(
      'refused_request',
      'The URL must not hold a user name or a password; leave them out.',
    );
  }
}

function checkHost({ hostname, port }: URL, rules: OutboundRules): void {
  if (isIpHost(hostname)) {
    throw new OutboundError('refused_host', 'Hosts are reached by name; use a name instead of an address.');
  }
  if (!rules.isListed(hostname) || REFUSED_NAMES.test(hostname)) {
    throw new OutboundError(
      'refused_host',
      'This host is not among those that can be reached; use another one.',
    );
  }
  if (!rules.ports.has(port === '' ? 443 : Number(port))) {
    throw new OutboundError(
      'refused_host',
      'This port is not among those that can be reached; leave it out.',
    );
  }
}

function invalid(): OutboundError {
  return new OutboundError(
    'invalid_url',
    'This is not a URL; write one such as https://api.example.com/items.',
  );
}

function tooLong(): OutboundError {
  return new OutboundError(
    'refused_request',
    `The URL is longer than ${MAX_URL_LENGTH} characters; shorten it.`,
  );
}
