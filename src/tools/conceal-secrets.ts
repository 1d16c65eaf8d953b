import { secretSpellings } from '../base/secret-spellings.ts';

/** Takes secrets out of a text, and out of the end of one that was cut what may be the beginning of a secret. */
export type Conceal = (text: string, how?: { readonly isCut: boolean }) => string;

/** Makes what takes secrets out of a text: an API may repeat what it was sent. */
export function concealSecrets(secrets: readonly string[]): Conceal {
  const spellings = secrets
    .filter(({ length }) => length >= MIN_LENGTH)
    .flatMap(secretSpellings)
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
