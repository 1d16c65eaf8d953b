/** A secret as it is, and as it appears in JSON, URLs, forms, HTML, numbers, hexadecimal and base64. */
export function secretSpellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((offset) => base64Inside(bytes, offset));
  const spellings = [
    secret,
    ...inJson(secret),
    ...inAddresses(bytes),
    ...inPages(secret),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    // A number loses leading zeros, and precision at its end.
    ...(/^\d+$/.test(secret) ? [String(Number(secret))] : []),
  ];
  return [...new Set(spellings)];
}

// What JSON writers may escape in addition: nothing, non-ASCII, characters special in HTML, or both.
const JSON_ESCAPED = [/[^ -~]/g, /[<>&\u2028\u2029]/g, /[<>&='\u2028\u2029]/g, /[<>&]|[^ -~]/g];

function inJson(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const texts = [json, ...JSON_ESCAPED.map((escaped) => json.replaceAll(escaped, toEscape))];
  return texts.flatMap((text) => [text, text.replaceAll('/', String.raw`\/`)]);
}

function toEscape(letter: string): string {
  return String.raw`\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// Characters that stay unescaped beside letters and digits: encodeURIComponent, RFC 3986, paths, forms, PHP,
// encodeURI.
const KEPT_IN_ADDRESSES = ["-_.!~*'()", '-_.~', '-_.~/', '-_.*', '-_.', "-_.!~*'();,/?:@&=+$#"];

function inAddresses(bytes: Buffer): string[] {
  return KEPT_IN_ADDRESSES.flatMap((kept) => {
    const upper = Array.from(bytes, (byte) => inAddress(byte, kept)).join('');
    const lower = upper.replaceAll(/%../g, (code) => code.toLowerCase());
    return [upper, lower, upper.replaceAll('%20', '+'), lower.replaceAll('%20', '+')];
  });
}

function inAddress(byte: number, kept: string): string {
  const letter = String.fromCharCode(byte);
  if (/[A-Za-z0-9]/.test(letter) || kept.includes(letter)) return letter;
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

// Ways to write a double and a single quote in HTML; libraries differ.
const QUOTES_IN_PAGES = [
  ['"', "'"],
  ['&quot;', "'"],
  ['&quot;', '&#39;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&#x27;'],
  ['&quot;', '&apos;'],
  ['&#34;', '&#39;'],
] as const;

function inPages(secret: string): string[] {
  const text = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return QUOTES_IN_PAGES.map(([double, single]) => text.replaceAll('"', double).replaceAll("'", single));
}

// Inside a longer base64 text a secret may start at three offsets; only characters that encode nothing but the
// secret are matched.
function base64Inside(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

const COUNTING = new Set('max min limit count size budget ttl tokens keys'.split(' '));

/** Whether a value is no secret although its name speaks of one: a number of them, such as `max_tokens=4096`. */
export function isCount(name: string, value: string): boolean {
  const words = name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return /^\d{1,9}$/.test(value) && words.some((word) => COUNTING.has(word));
}
