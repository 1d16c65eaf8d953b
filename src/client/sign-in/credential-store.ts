import type { Awaitable } from '../../base/awaitable.ts';

/**
 * Where tokens and registrations are kept, by a name that says nothing. Wrap a store that outlives the process in
 * `sealedStore`.
 */
export interface CredentialStore {
  get(name: string): Awaitable<string | undefined>;
  set(name: string, value: string): Awaitable<void>;
  delete(name: string): Awaitable<void>;
  /**
   * Does work while no other user of the store does work under this name, in other processes too. Without it, tokens
   * may be renewed more than once at a time.
   */
  exclusively?<T>(name: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Keeps credentials until the process ends. */
export function memoryCredentials(): CredentialStore {
  const values = new Map<string, string>();
  return {
    get: (name) => values.get(name),
    set: (name, value) => void values.set(name, value),
    delete: (name) => void values.delete(name),
  };
}
