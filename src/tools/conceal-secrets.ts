import { secretSpellings } from '../base/secret-spellings.ts';

/** Removes secrets from a text, and from the end of a cut text the possible beginning of a secret. */
export type Conceal = (text: string, how?: { readonly isCut: boolean }) => string;

/** Makes a function that removes secrets from a text: an API may repeat what it was sent. */
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

/** The secrets in a header's value: all of it, and what follows a scheme such as `Bearer`. */
export function secretsInHeader(value: string): readonly string[] {
  return [value, value.slice(value.indexOf(' ') + 1)];
}

// Shorter ones are part of too many words.
const MIN_LENGTH = 4;

/** How many characters at the end of a text may be the beginning of a secret. */
function begunAtEnd(text: string, secrets: readonly string[]): number {
  let most = 0;
  for (const secret of secrets) {
    let length = secret.length - 1;
    while (length > most && !text.endsWith(secret.slice(0, length))) length--;
    most = Math.max(most, length);
  }
  return most;
}
