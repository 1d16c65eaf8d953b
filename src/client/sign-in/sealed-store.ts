import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ToolcribError } from '../../base/errors.ts';
import type { CredentialStore } from './credential-store.ts';

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1.';

/** Encrypts what a store keeps (AES-256-GCM), bound to its name: a value put under another name cannot be read. */
export function sealedStore(store: CredentialStore, key: Uint8Array): CredentialStore {
  if (key.byteLength !== KEY_BYTES)
    throw new ToolcribError('invalid_setup', `The key for credentials must have ${KEY_BYTES} bytes.`);
  return {
    get: async (name) => {
      const text = await store.get(name);
      return text === undefined ? undefined : open(text, name, key);
    },
    set: (name, value) => store.set(name, close(value, name, key)),
    delete: (name) => store.delete(name),
    exclusively: (name, work, signal) => store.exclusively?.(name, work, signal) ?? work(),
  };
}

function close(value: string, name: string, key: Uint8Array): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(VERSION + name));
  const text = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return VERSION + Buffer.concat([iv, text, cipher.getAuthTag()]).toString('base64url');
}

// What cannot be read counts as absent: the person signs in again.
function open(text: string, name: string, key: Uint8Array): string | undefined {
  if (!text.startsWith(VERSION)) return undefined;
  const bytes = Buffer.from(text.slice(VERSION.length), 'base64url');
  if (bytes.byteLength < IV_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(VERSION + name))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]).toString();
  } catch {
    return undefined;
  }
}
