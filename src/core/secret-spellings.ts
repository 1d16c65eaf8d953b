/** A secret as it is, and as JSON, addresses, numbers, hexadecimal digits and base64 write it. */
export function secretSpellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  // Half a character has no encoding.
  const address = encodeURIComponent(bytes.toString());
  const base64 = [0, 1, 2].map((offset) => base64Inside(bytes, offset));
  const spellings = [
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
  return [...new Set(spellings)];
}

// Inside a longer text a secret may begin at any of three places of a group; only letters that hold nothing but the secret are looked for.
function base64Inside(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}
