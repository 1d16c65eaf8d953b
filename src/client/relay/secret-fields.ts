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
    const field = isObject(properties[name]) ? properties[name] : {};
    const { title, format } = field;
    if (format === 'password') return true;
    return isWritten(field) && [name, title].some((text) => typeof text === 'string' && isSecretName(text));
  });
}

// What is ticked or chosen from a list holds no secret.
function isWritten({ type, enum: listed, oneOf }: Readonly<Record<string, unknown>>): boolean {
  return type !== 'boolean' && type !== 'array' && listed === undefined && oneOf === undefined;
}

const PLAIN = words(
  'password passwords passwd passphrase passcode apikey apikeys cvv cvc ssn mnemonic credential credentials ' +
    'passwort kennwort contraseña contrasena senha wachtwoord hasło пароль 密码 密碼 パスワード',
);
const PHRASES = [
  'api key|access key|private key|secret key|signing key|encryption key|card number|seed phrase|recovery phrase',
  'recovery code|security code|mot de passe',
].flatMap((phrases) => phrases.split('|').map((phrase) => phrase.split(' ')));
// These mean other things, too: "max tokens", "the token count", "a secret santa".
const AT_THE_END = words('secret token');
// What else a field for a secret is called: "password (again)", "token value".
const FILLERS = words(
  'again confirm confirmation repeat repeated retype verify value text string here please',
);
// Something about a secret is none: "password length", "the name of the API key".
const ABOUT = words(
  'age algorithm count date days description expires expiry file folder format helper hint id kind label length level ' +
    'limit link location manager max maximum min minimum minutes name number path policy prefix protected provider ' +
    'reset rotation rule rules size status store strength ttl type url usage version',
);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

function isSecretName(text: string): boolean {
  const all = wordsOf(text);
  const said = all.slice(0, 1 + all.findLastIndex((word) => !FILLERS.has(word)));
  return said.some((word, at) => {
    const isLast = at === said.length - 1;
    const length = PLAIN.has(word) || (isLast && AT_THE_END.has(word)) ? 1 : phraseAt(said, at);
    return length > 0 && !isAbout(said, at, at + length);
  });
}

function wordsOf(text: string): readonly string[] {
  return text
    .slice(0, 200)
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])|(?<=\p{L})(?=\d)|(?<=\d)(?=\p{L})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => /\p{L}/u.test(word));
}

function phraseAt(said: readonly string[], at: number): number {
  const isAt = (word: string, index: number): boolean => [word, `${word}s`].includes(said[at + index] ?? '');
  return PHRASES.find((phrase) => phrase.every(isAt))?.length ?? 0;
}

// "Password length", or "the length of the password".
function isAbout(said: readonly string[], from: number, to: number): boolean {
  const of = said.lastIndexOf('of', from);
  return ABOUT.has(said[to] ?? '') || (of > 0 && ABOUT.has(said[of - 1]!));
}
