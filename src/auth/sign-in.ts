import type { Caller, Tenant } from '../core/caller.ts';
import { andThen, type Awaitable } from '../base/awaitable.ts';
import { KEY_PREFIX } from './api-key.ts';

/** As much of a request as signing in may look at. */
export interface RequestHead {
  /** The request target as sent, query included. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The same object for every request on one connection, where there are connections. */
  readonly connection?: object | undefined;
}

/** Tells for whom to end what is open: the same caller object that signed in. */
export type IsGone = (caller: Caller) => boolean;

/** Names the caller of a request, or nobody. */
export interface SignIn {
  /** Who sends a request; `undefined` is nobody. Throws only `insufficient_scope`. */
  readonly authenticate: (head: RequestHead) => Awaitable<Caller | undefined>;
  /** Tells, until the returned function is called, that callers are no longer who they were: `server.dismiss` takes what it says. */
  onRevoked(listener: (isGone: IsGone) => void): () => void;
  /** Stops asking and watching. */
  close(): void;
}

/** A sign-in for one kind of credential. */
export interface CredentialSignIn extends SignIn {
  readonly kind: 'key' | 'token';
  /** Whose credential it is; `undefined` is nobody. What it took to find out may be left on the connection's memo. */
  check(credential: string, memo?: ConnectionMemo): Awaitable<Caller | undefined>;
}

/** What one connection sent last, so that the same again need not be taken apart and hashed again. */
export interface ConnectionMemo {
  readonly authorization: string;
  readonly credential: string;
  /** Under which hash the credential is known. */
  hash: string | undefined;
}

/** One sign-in for several kinds of credential: keys are told from tokens by how they begin. */
export function combine(signIns: readonly CredentialSignIn[]): SignIn {
  const keys = signIns.filter(({ kind }) => kind === 'key');
  const tokens = signIns.filter(({ kind }) => kind === 'token');
  const memos = new WeakMap<object, ConnectionMemo>();
  return {
    authenticate(head) {
      const memo = head.connection && recall(head, memos.get(head.connection));
      if (memo) return firstToKnow(isKey(memo.credential) ? keys : tokens, memo.credential, { memo });
      const credential = credentialOf(head);
      if (credential === undefined) return undefined;
      const made = head.connection && note(head, credential);
      if (head.connection && made) memos.set(head.connection, made);
      return firstToKnow(isKey(credential) ? keys : tokens, credential, { memo: made });
    },
    onRevoked(listener) {
      const quits = signIns.map((signIn) => signIn.onRevoked(listener));
      return () => quits.forEach((quit) => quit());
    },
    close: () => signIns.forEach((signIn) => signIn.close()),
  };
}

/** The one credential of a request: a bearer credential, or a key in `X-API-Key`; more than one, or one in the address, is none. */
export function credentialOf({ target, headers }: RequestHead): string | undefined {
  if (target.includes('?') && hasCredential(target)) return undefined;
  const authorization = headers['authorization'];
  const key = headers['x-api-key'];
  if (authorization === undefined) return typeof key === 'string' && isKey(key) ? key : undefined;
  // Two readers could take one each, so a request with both is nobody's.
  if (key !== undefined || typeof authorization !== 'string') return undefined;
  return BEARER.exec(authorization)?.[1];
}

/** Whether a caller is gone, remembered by the object that named it or its tenant, and told to whoever listens. */
export class Departures {
  readonly #gone = new WeakSet<Caller | Tenant>();
  readonly #listeners = new Set<(isGone: IsGone) => void>();
  #soon = false;
  #again = false;

  /** Marks a caller, or everybody of a tenant, as gone; listeners hear of all those marked in one turn together. */
  add(gone: Caller | Tenant): void {
    this.#gone.add(gone);
    this.#again = true;
    if (this.#soon) return;
    this.#soon = true;
    queueMicrotask(() => {
      this.#soon = false;
      this.#announce();
    });
  }

  /** Tells once more: a request that was let in just before may have opened something since. */
  repeat(): void {
    if (!this.#again) return;
    this.#again = false;
    this.#announce();
  }

  /** Lets a listener hear until the returned function is called. */
  listen(listener: (isGone: IsGone) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly #isGone: IsGone = (caller) => this.#gone.has(caller) || this.#gone.has(caller.tenant);

  #announce(): void {
    for (const listener of this.#listeners) listener(this.#isGone);
  }
}

const BEARER = /^bearer +([\w.~+/=-]+)$/i;
// What begins like a key, or a whole key wherever it stands: the prefix alone may turn up within a random id.
const KEY_INSIDE = /(?<![\w-])tck_|tck_[\dA-Za-z]{36}/;
const NAMES = new Set(['api_key', 'api-key', 'apikey', 'x-api-key', 'access_token', 'authorization']);

function isKey(credential: string): boolean {
  return credential.startsWith(KEY_PREFIX);
}

// Addresses end up in logs and histories, so whoever puts a credential into one is not let in with it.
function hasCredential(target: string): boolean {
  // Some programs part a query at semicolons, too.
  const query = new URLSearchParams(target.slice(target.indexOf('?') + 1).replaceAll(';', '&'));
  for (const [name, value] of query) {
    if (NAMES.has(name.toLowerCase()) || KEY_INSIDE.test(name) || KEY_INSIDE.test(value)) return true;
  }
  return false;
}

// The same header on the same connection: whoever sent it knows it, so comparing it tells them nothing.
function recall(
  { target, headers }: RequestHead,
  memo: ConnectionMemo | undefined,
): ConnectionMemo | undefined {
  if (!memo || memo.authorization !== headers['authorization']) return undefined;
  return headers['x-api-key'] === undefined && !target.includes('?') ? memo : undefined;
}

function note({ headers }: RequestHead, credential: string): ConnectionMemo | undefined {
  const authorization = headers['authorization'];
  return typeof authorization === 'string' ? { authorization, credential, hash: undefined } : undefined;
}

interface Trail {
  readonly memo: ConnectionMemo | undefined;
  readonly index?: number;
}

function firstToKnow(
  signIns: readonly CredentialSignIn[],
  credential: string,
  { memo, index = 0 }: Trail,
): Awaitable<Caller | undefined> {
  const signIn = signIns[index];
  if (!signIn) return undefined;
  const caller = signIn.check(credential, memo);
  // Most of the time it is known at once, and there is nobody else to ask.
  if (!(caller instanceof Promise) && (caller || index + 1 >= signIns.length)) return caller;
  return andThen(caller, (known) => known ?? firstToKnow(signIns, credential, { memo, index: index + 1 }));
}
