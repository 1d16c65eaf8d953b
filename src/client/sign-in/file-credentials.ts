import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import type { CredentialStore } from './credential-store.ts';
import { withFileLock } from './file-lock.ts';
import { sealedStore } from './sealed-store.ts';

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

/**
 * Keeps credentials as encrypted files in a folder that only its owner can use. Without a key of your own,
 * one is made in the file `key` of that folder.
 */
export async function fileCredentials(folder: string, key?: Uint8Array): Promise<CredentialStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(unusable);
  await refuseOthers(folder, `chmod 700 ${folder}`);
  return sealedStore(files(folder), key ?? (await ownKey(join(folder, 'key'))));
}

function files(folder: string): CredentialStore {
  const place = (name: string): string => join(folder, `${checkName(name)}.sealed`);
  return {
    get: (name) => readFile(place(name), 'utf8').catch(absent),
    set: async (name, value) => rename(await writeDraft(place(name), value), place(name)).catch(unusable),
    delete: (name) => unlink(place(name)).catch(absent),
    exclusively: (name, work, signal) =>
      withFileLock(join(folder, `${checkName(name)}.lock`), work, { signal }),
  };
}

async function ownKey(file: string): Promise<Uint8Array> {
  const there = await readFile(file).catch(absent);
  if (there === undefined) {
    const draft = await writeDraft(file, randomBytes(32));
    // Two processes that start at once end up with the same key.
    await link(draft, file).catch(ignoreExisting);
    await unlink(draft);
    return readFile(file);
  }
  await refuseOthers(file, `chmod 600 ${file}`);
  return there;
}

async function refuseOthers(path: string, remedy: string): Promise<void> {
  if (((await stat(path)).mode & OTHERS) === 0) return;
  throw new ToolcribError('invalid_setup', `${path} is open to others; run: ${remedy}`);
}

// Written whole before it has its name, so that a crash leaves the old value.
async function writeDraft(file: string, value: string | Uint8Array): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(draft, 'wx', OWNER_ONLY).catch(unusable);
  try {
    await handle.writeFile(value);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return draft;
}

function checkName(name: string): string {
  if (/^[\w-]{1,200}$/.test(name)) return name;
  throw new ToolcribError('invalid_setup', 'The name of a credential must be letters, digits, "-" and "_".');
}

function absent(error: NodeJS.ErrnoException): undefined {
  return error.code === 'ENOENT' ? undefined : unusable(error);
}

function unusable(cause: NodeJS.ErrnoException): never {
  const { path = 'The folder of credentials', code = 'unknown reason' } = cause;
  throw new ToolcribError(
    'invalid_setup',
    `${path} cannot be used (${code}); credentials need a folder that you can read and write.`,
    { cause },
  );
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
