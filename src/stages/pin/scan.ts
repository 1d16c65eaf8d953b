import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { cleanText } from '../../observe/clean-text.ts';
import { phraseIn, plainWordsOf } from './phrases.ts';

/** A suspicious part of a definition. */
export type ScanKind =
  | 'invisible text'
  | 'mixed letters'
  | 'encoded text'
  | 'instruction to the model'
  | 'reference to other tools'
  | 'secret place'
  | 'long text';

/** Something in a definition that deserves a look before it is approved. */
export interface ScanFinding {
  readonly kind: ScanKind;
  /** Where it is, such as `inputSchema.properties.city.description`. */
  readonly path: string;
  /** The part that was found. */
  readonly text: string;
}

/**
 * Finds what poisoned definitions have in common. It helps a person who reads a definition; what it does not find may
 * still be harmful.
 */
export function scanDefinition(
  definition: string,
  otherTools: readonly string[] = [],
): readonly ScanFinding[] {
  const content = parseJson(definition);
  const name = isObject(content) ? content['name'] : undefined;
  const others = new Set(otherTools.filter((other) => other !== name && /[_-]/.test(other)));
  const found = textsIn(content, '').flatMap(({ path, text }) => findingsIn(path, text, others));
  return found.slice(0, MAX_FINDINGS);
}

const MAX_FINDINGS = 100;
const LONG_TEXT = 4_000;
const SHOWN = 120;

function findingsIn(path: string, text: string, others: ReadonlySet<string>): readonly ScanFinding[] {
  const found: ScanFinding[] = [];
  const add = (kind: ScanKind, part: string): void =>
    void found.push({ kind, path, text: part.slice(0, SHOWN) });
  const clean = cleanText(text);
  if (clean !== text) add('invisible text', text);
  const readable = clean.normalize('NFKC');
  const mixed = MIXED.exec(readable);
  if (mixed) add('mixed letters', around(readable, mixed.index));
  const decoded = encodedIn(readable);
  if (decoded !== undefined) add('encoded text', decoded);
  for (const read of [latinised(readable), ...(decoded === undefined ? [] : [decoded])]) {
    const lower = read.toLowerCase();
    const mark = MARKS.find((one) => lower.includes(one));
    if (mark !== undefined) add('instruction to the model', around(read, lower.indexOf(mark)));
    const secret = SECRET_PLACES.find((one) => lower.includes(one));
    if (secret !== undefined) add('secret place', around(read, lower.indexOf(secret)));
    const words = plainWordsOf(lower);
    for (const { kind, phrase } of phraseIn(words)) add(kind, phrase);
    const other = words.find((word) => others.has(word));
    if (other !== undefined) add('reference to other tools', other);
  }
  if (text.length > LONG_TEXT) add('long text', text);
  return found;
}

interface Text {
  readonly path: string;
  readonly text: string;
}

// Keys are read too: the name of a parameter reaches the model like its description.
function textsIn(value: unknown, path: string): readonly Text[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((item, at) => textsIn(item, `${path}[${at}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const place = path === '' ? key : `${path}.${key}`;
    return [...(isPlainKey(key) ? [] : [{ path: place, text: key }]), ...textsIn(inner, place)];
  });
}

function isPlainKey(key: string): boolean {
  return /^[\w$]{1,24}$/.test(key);
}

function around(text: string, at: number): string {
  return text.slice(Math.max(0, at - SHOWN / 3), at + SHOWN);
}

// A word of Latin letters with a look-alike of another script in it.
const MIXED =
  /[\p{Script=Latin}][\p{Script=Cyrillic}\p{Script=Greek}]|[\p{Script=Cyrillic}\p{Script=Greek}][\p{Script=Latin}]/u;
const LOOKALIKES = 'аaеeоoрpсcуyхxіiјjѕsԁdһhοoαaεeιiνvρpτtυu';

function latinised(text: string): string {
  if (!MIXED.test(text)) return text;
  return Array.from(text, (letter) => {
    const at = LOOKALIKES.indexOf(letter);
    return at >= 0 && at % 2 === 0 ? LOOKALIKES[at + 1]! : letter;
  }).join('');
}

const MIN_ENCODED = 24;

// Runs of base64 or hexadecimal that are text once they are decoded.
function encodedIn(text: string): string | undefined {
  for (const run of text.split(/[^A-Za-z0-9+/=_-]+/)) {
    if (run.length < MIN_ENCODED) continue;
    for (const encoding of ['hex', 'base64'] as const) {
      const decoded = Buffer.from(run, encoding).toString('utf8');
      if (decoded.length >= MIN_ENCODED / 2 && READABLE.test(decoded)) return decoded;
    }
  }
  return undefined;
}

const READABLE = /^[\n -~]+$/;

const MARKS: readonly string[] = [
  '<important',
  '</important',
  '<system',
  '<secret',
  '<hidden',
  '<instruction',
  '<|im_start|',
  '<|system|',
  '[inst]',
  '[system]',
  '### system',
  '<!--',
  'as an ai',
  'jailbreak',
  'developer mode',
];

const SECRET_PLACES: readonly string[] = [
  '.ssh',
  'id_rsa',
  'id_ed25519',
  '.aws/',
  '.env',
  '/etc/passwd',
  '/etc/shadow',
  'mcp.json',
  'claude_desktop_config',
  '.npmrc',
  '.netrc',
  '.pypirc',
  '.kube/config',
  '.docker/config',
  '.git-credentials',
  '.gnupg',
  '_history',
  '/proc/self',
  'process.env',
  'os.environ',
  '169.254.169.254',
  'cookies.sqlite',
  'login data',
  'wallet.dat',
  'keychain',
  'api_key',
  'private key',
];
