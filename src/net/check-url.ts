import { OutboundError } from './outbound.ts';
import { isIpHost } from './is-ip-host.ts';
import type { OutboundRules } from './outbound-rules.ts';

const MAX_URL_LENGTH = 2_048;

// Names that lead to this machine or to what hands out its secrets; the addresses behind them are refused, too.
const REFUSED_NAMES =
  /^(localhost|.*\.localhost|metadata|metadata\.google\.internal|metadata\.goog|instance-data|instance-data\.ec2\.internal)$/;

/** Reads a URL and refuses what may not be reached, before anything is resolved or connected; `base` is where a redirect comes from. */
export function checkUrl(text: string, rules: OutboundRules, base?: URL): URL {
  const url = parseUrl(text, base);
  // A blob has an origin, too, but is nothing that can be connected to.
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
  // The parser would drop or change these, so that what is checked is not what was written.
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
