import type { Caller, Tenant } from '../core/caller.ts';
import { andThen, type Awaitable } from '../base/awaitable.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { KEY_PREFIX } from './api-key.ts';
import type { SignInLog } from './problem-log.ts';
import { RefusedSignIns, type Brought } from './refused-sign-ins.ts';

/** The part of a request that signing in may read. */
export interface RequestHead {
  /** The request target as sent, with its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The same object for every request on one connection, if there are connections. */
  readonly connection?: object | undefined;
}

/** Whether a caller's access has ended, by the caller object from signing in. */
export type IsGone = (caller: Caller) => boolean;

/** Identifies the caller of a request. */
export interface SignIn {
  /** The caller of a request, or `undefined`. Throws only `insufficient_scope`. */
  readonly authenticate: (head: RequestHead) => Awaitable<Caller | undefined>;
  /** Why `authenticate` refused a request; for the operator, without the credential. */
  readonly explain: (head: RequestHead) => Awaitable<string>;
  /** Reports callers whose sign-in has ended, until the returned function is called; pass it to `server.dismiss`. */
  onRevoked(listener: (isGone: IsGone) => void): () => void;
  /** Stops asking and watching. */
  close(): void;
}

/** A sign-in for one kind of credential. */
export interface CredentialSignIn extends SignIn {
  readonly kind: 'key' | 'token';
  /** The caller of a credential, or `undefined`. The result may be cached in the connection's memo. */
  check(credential: string, memo?: ConnectionMemo): Awaitable<Caller | undefined>;
  /** Why `check` refused a credential; for the operator, without the credential. */
  whyNot(credential: string): Awaitable<string>;
}

/** The last credential of a connection, so that the same header is not parsed and hashed again. */
export interface ConnectionMemo {
  readonly authorization: string;
  readonly credential: string;
  /** The hash of the credential. */
  hash: string | undefined;
}

/** Where the reasons of refused requests are logged. */
export interface CombineOptions {
  readonly log?: SignInLog | undefined;
  readonly clock?: Clock | undefined;
}

/** Combines sign-ins for several kinds of credentials: keys and tokens differ in their prefix. */
export function combine(
  signIns: readonly CredentialSignIn[],
  { log, clock = systemClock }: CombineOptions = {},
): SignIn {
  const keys = signIns.filter(({ kind }) => kind === 'key');
  const tokens = signIns.filter(({ kind }) => kind === 'token');
  const memos = new WeakMap<object, ConnectionMemo>();
  const refused = log && new RefusedSignIns(log, clock);
  const asked = (credential: string): readonly CredentialSignIn[] => (isKey(credential) ? keys : tokens);
  const nobody = (head: RequestHead): undefined => {
    refused?.note(broughtBy(head), () => whyRefused(head, asked));
  };
  const identify = (head: RequestHead): Awaitable<Caller | undefined> => {
    const memo = head.connection && recall(head, memos.get(head.connection));
    if (memo) return firstToKnow(asked(memo.credential), memo.credential, { memo });
    const credential = credentialOf(head);
    if (credential === undefined) return undefined;
    const made = head.connection && note(head, credential);
    if (head.connection && made) memos.set(head.connection, made);
    return firstToKnow(asked(credential), credential, { memo: made });
  };
  return {
    authenticate(head) {
      const caller = identify(head);
      if (caller instanceof Promise) return refused ? caller.then((known) => known ?? nobody(head)) : caller;
      return caller ?? nobody(head);
    },
    explain: (head) => whyRefused(head, asked),
    onRevoked(listener) {
      const quits = signIns.map((signIn) => signIn.onRevoked(listener));
      return () => quits.forEach((quit) => quit());
    },
    close: () => signIns.forEach((signIn) => signIn.close()),
  };
}

/**
 * The one credential of a request: a bearer credential, or a key in `X-API-Key`; `undefined` if there are several, or
 * one is in the URL.
 */
export function credentialOf({ target, headers }: RequestHead): string | undefined {
  if (target.includes('?') && hasCredential(target)) return undefined;
  const authorization = headers['authorization'];
  const key = headers['x-api-key'];
  if (authorization === undefined) return typeof key === 'string' && isKey(key) ? key : undefined;
  // Two readers could each use another one, so a request with both is refused.
  if (key !== undefined || typeof authorization !== 'string') return undefined;
  return BEARER.exec(authorization)?.[1];
}

/** Keeps callers and tenants whose access has ended, and notifies listeners. */
export class Departures {
  readonly #gone = new WeakSet<Caller | Tenant>();
  readonly #listeners = new Set<(isGone: IsGone) => void>();
  #soon = false;
  #again = false;

  /** Marks a caller or a whole tenant as ended; listeners are notified once for all marked in the same turn. */
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

  /** Tells listeners again: a request admitted just before may have opened something since. */
  repeat(): void {
    if (!this.#again) return;
    this.#again = false;
    this.#announce();
  }

  /** Adds a listener until the returned function is called. */
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
// A key's prefix at the start of a word, or a whole key anywhere: the prefix alone may occur within a random id.
const KEY_INSIDE = /(?<![\w-])tck_|tck_[\dA-Za-z]{36}/;
const NAMES = new Set(['api_key', 'api-key', 'apikey', 'x-api-key', 'access_token', 'authorization']);

function broughtBy(head: RequestHead): Brought {
  const credential = credentialOf(head);
  if (credential !== undefined) return isKey(credential) ? 'key' : 'token';
  const { headers } = head;
  const isBare = headers['authorization'] === undefined && headers['x-api-key'] === undefined;
  return isBare && !head.target.includes('?') ? 'nothing' : 'something unusable';
}

async function whyRefused(
  head: RequestHead,
  asked: (credential: string) => readonly CredentialSignIn[],
): Promise<string> {
  const credential = credentialOf(head);
  if (credential === undefined) return whyUnusable(head);
  const kind = isKey(credential) ? 'key' : 'token';
  const reasons: string[] = [];
  for (const signIn of asked(credential)) reasons.push(await signIn.whyNot(credential));
  return reasons.length > 0 ? `${kind}: ${reasons.join('; ')}` : `${kind}: none is taken here`;
}

function whyUnusable({ target, headers }: RequestHead): string {
  if (target.includes('?') && hasCredential(target))
    return 'a credential is in the address, where it ends up in logs';
  const { authorization, 'x-api-key': key } = headers;
  if (authorization !== undefined && key !== undefined)
    return 'there are two, in Authorization and in X-API-Key';
  if (authorization !== undefined) return 'Authorization is not "Bearer" and one credential';
  return key === undefined ? 'no credential was sent' : 'X-API-Key holds no key, which begins with tck_';
}

function isKey(credential: string): boolean {
  return credential.startsWith(KEY_PREFIX);
}

// URLs end up in logs and histories, so a credential in a URL is refused.
function hasCredential(target: string): boolean {
  // Some programs split a query at semicolons too.
  const query = new URLSearchParams(target.slice(target.indexOf('?') + 1).replaceAll(';', '&'));
  for (const [name, value] of query) {
    if (NAMES.has(name.toLowerCase()) || KEY_INSIDE.test(name) || KEY_INSIDE.test(value)) return true;
  }
  return false;
}

// The same header on the same connection: its sender knows it, so comparing it reveals nothing.
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
  // Fast path: the caller is mostly known at once.
  if (!(caller instanceof Promise) && (caller || index + 1 >= signIns.length)) return caller;
  return andThen(caller, (known) => known ?? firstToKnow(signIns, credential, { memo, index: index + 1 }));
}
