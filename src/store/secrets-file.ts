import { generateKeyPairSync, randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { ToolcribError } from '../base/errors.ts';
import { parseJson } from '../base/parse-json.ts';

/** What to do about a file of the store that belongs to another account. */
export const runAsOwner = '; run this as the account that the server runs as, which owns the file';

/** The secrets of a deployment, kept outside its database. */
export interface StoreSecrets {
  /** Part of the hash of every API key. */
  readonly pepper: string;
  /** Part of the digest of every call's arguments, since short arguments could be guessed. */
  readonly digestKey: string;
  /** Signs the checkpoints of the record. */
  readonly signingKey: string;
}

/** Reads the file of secrets, or creates one that only its owner can read. */
export function openSecrets(file: string, which: 'any' | 'existing' = 'any'): StoreSecrets {
  const text = read(file) ?? (which === 'any' ? made(file) : undefined);
  if (text === undefined)
    throw new ToolcribError('invalid_setup', `There is no ${file}; restore the secrets from a backup.`);
  let secrets: Partial<StoreSecrets>;
  try {
    secrets = parseJson(text) ?? {};
  } catch (cause) {
    throw new ToolcribError('invalid_setup', `${file} is not a file of secrets; restore it from a backup.`, {
      cause,
    });
  }
  const { pepper, digestKey, signingKey } = secrets;
  if (!isLongEnough(pepper) || !isLongEnough(digestKey) || !isLongEnough(signingKey)) {
    throw new ToolcribError(
      'invalid_setup',
      `${file} lacks a secret or holds one that is too short; restore it from a backup.`,
    );
  }
  return { pepper, digestKey, signingKey };
}

function isLongEnough(secret: unknown): secret is string {
  return typeof secret === 'string' && secret.length >= 32;
}

function read(file: string): string | undefined {
  try {
    const there = statSync(file);
    if (there.isDirectory())
      throw new ToolcribError('invalid_setup', `${file} is a folder, not a file of secrets.`);
    if ((there.mode & 0o077) !== 0) {
      throw new ToolcribError('invalid_setup', `${file} can be read by others; run: chmod 600 ${file}`);
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (error instanceof ToolcribError) throw error;
    const advice = code === 'EACCES' ? runAsOwner : '';
    throw new ToolcribError('invalid_setup', `${file} cannot be read (${code})${advice}.`, { cause: error });
  }
}

function made(file: string): string {
  try {
    return create(file);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const text = `${file} cannot be made (${code}): its folder must exist, and this account must be able to write in it.`;
    throw new ToolcribError('invalid_setup', text, { cause });
  }
}

// Written in full under another name first, so that two processes starting at once get the same secrets.
function create(file: string): string {
  const { privateKey } = generateKeyPairSync('ed25519');
  const secrets: StoreSecrets = {
    pepper: randomBytes(32).toString('base64url'),
    digestKey: randomBytes(32).toString('base64url'),
    signingKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeSync(descriptor, `${JSON.stringify(secrets, undefined, 2)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return readFileSync(file, 'utf8');
}
