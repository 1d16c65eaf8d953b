/** A secret as it is, and as JSON, addresses, forms, web pages, numbers, hexadecimal digits and base64 write it. */
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
    // A number loses zeros in front and digits at its end.
    ...(/^\d+$/.test(secret) ? [String(Number(secret))] : []),
  ];
  return [...new Set(spellings)];
}

// What writers of JSON escape beside what they must: nothing, what is not ASCII, what means something in a web page, or both.
const JSON_ESCAPED = [/[^ -~]/g, /[<>&\u2028\u2029]/g, /[<>&='\u2028\u2029]/g, /[<>&]|[^ -~]/g];

function inJson(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const texts = [json, ...JSON_ESCAPED.map((escaped) => json.replaceAll(escaped, toEscape))];
  return texts.flatMap((text) => [text, text.replaceAll('/', String.raw`\/`)]);
}

function toEscape(letter: string): string {
  return String.raw`\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// What is left as it is beside letters and digits: by encodeURIComponent, by the standard, as a path, by forms, by PHP, by encodeURI.
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

// How a double and a single quote are written, which no two libraries do alike.
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

// Inside a longer text a secret may begin at any of three places of a group; only letters that hold nothing but the secret are looked for.
function base64Inside(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}
