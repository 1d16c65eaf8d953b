import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Question } from '../../core/question.ts';

/**
 * Refuses forms with a field for a password or a key: what a person writes into one is read by the server behind, and
 * by every model and log between. Such things belong on a page.
 */
export function refuseSecretFields(questions: Iterable<Question>, asker: string): void {
  for (const question of questions) {
    const field = question.kind === 'form' ? secretFieldOf(question.schema) : undefined;
    if (field === undefined) continue;
    const text = `${asker} asks for ${JSON.stringify(field.slice(0, 100))} in a form. Secrets belong on a page, so nobody was asked.`;
    throw new ToolcribError('cannot_ask', text);
  }
}

function secretFieldOf({ properties }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isObject(properties)) return undefined;
  return Object.keys(properties).find((name) => {
    const field = properties[name];
    const { title, format } = isObject(field) ? field : {};
    return (
      format === 'password' || [name, title].some((text) => typeof text === 'string' && isSecretName(text))
    );
  });
}

// By the last word: "max_tokens" and "token_count" are numbers of something.
const LAST_WORDS = new Set(
  'password passwd passphrase passcode secret token credential credentials apikey cvv cvc ssn mnemonic'.split(
    ' ',
  ),
);
const LAST_TWO = new Set(
  'api key|access key|private key|secret key|signing key|card number|seed phrase|recovery phrase|security code'.split(
    '|',
  ),
);

function isSecretName(text: string): boolean {
  const words = text
    .slice(0, 200)
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  return LAST_WORDS.has(words.at(-1) ?? '') || LAST_TWO.has(words.slice(-2).join(' '));
}
