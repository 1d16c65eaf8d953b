/** Takes secrets out of a text, and out of the end of one that was cut what may be the beginning of a secret. */
export type Conceal = (text: string, how?: { readonly isCut: boolean }) => string;

/** Makes what takes secrets out of a text: an API may repeat what it was sent. */
export function concealSecrets(secrets: readonly string[]): Conceal {
  const spellings = secrets
    .filter(({ length }) => length >= MIN_LENGTH)
    .flatMap(spellingsOf)
    .filter(({ length }) => length >= MIN_LENGTH)
    .toSorted((a, b) => b.length - a.length);
  const distinct = [...new Set(spellings)];
  return (text, { isCut } = { isCut: false }) => {
    const clean = distinct.reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text);
    return isCut ? clean.slice(0, clean.length - begunAtEnd(clean, distinct)) : clean;
  };
}

/** What is secret in a header's value: the whole, and what follows a scheme such as `Bearer`. */
export function secretsInHeader(value: string): readonly string[] {
  return [value, value.slice(value.indexOf(' ') + 1)];
}

// Shorter ones are part of too many words.
const MIN_LENGTH = 4;

// As it is, and as JSON, addresses, numbers, hexadecimal digits and base64 write it.
function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  // Half a character has no encoding.
  const address = encodeURIComponent(bytes.toString());
  const base64 = [0, 1, 2].map((offset) => base64Inside(bytes, offset));
  return [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    address,
    address.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase()),
    address.replaceAll('%20', '+'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    // A number loses zeros in front and digits at its end.
    ...(/^\d+$/.test(secret) ? [String(Number(secret))] : []),
  ];
}

// Inside a longer text a secret may begin at any of three places of a group; only letters that hold nothing but the secret are looked for.
function base64Inside(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

/** How many characters at the end of a text are the beginning of a secret. */
function begunAtEnd(text: string, secrets: readonly string[]): number {
  let most = 0;
  for (const secret of secrets) {
    let length = secret.length - 1;
    while (length > most && !text.endsWith(secret.slice(0, length))) length--;
    most = Math.max(most, length);
  }
  return most;
}
