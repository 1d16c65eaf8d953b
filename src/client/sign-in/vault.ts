import { createHash } from 'node:crypto';
import { parseJson } from '../../base/parse-json.ts';
import type { CredentialStore } from './credential-store.ts';
import type { DpopJwks } from './dpop.ts';

/** A token set as it is kept. */
export interface KeptTokens {
  readonly accessToken: string;
  /** The key the token is bound to; a plain bearer token has none. */
  readonly dpop?: DpopJwks | undefined;
  /** When it ends, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
  /** When to get the next one, ahead of its end. */
  readonly renewAt?: number | undefined;
  readonly refreshToken?: string | undefined;
  /** The client it was given to. */
  readonly clientId: string;
  /** The scopes that were asked for. */
  readonly scopes: readonly string[];
}

/** A client that registered itself. */
export interface KeptClient {
  readonly id: string;
  readonly secret?: string | undefined;
  readonly method?: string | undefined;
  readonly redirectUri: string;
  readonly expiresAt?: number | undefined;
}

/** Who issues the tokens of a server, and what they are for. */
export interface Issued {
  readonly issuer: string;
  readonly resource: string;
  /** Whether the server publishes no metadata, as of 2025-03-26. */
  readonly isLegacy: boolean;
}

/**
 * Keeps the credentials of one account, each under what it is good for: a token under its issuer, resource and account.
 */
export class Vault {
  readonly #store: CredentialStore;
  readonly #account: string;

  constructor(store: CredentialStore, account: string) {
    this.#store = store;
    this.#account = account;
  }

  /** What was last found out about a server. */
  issued(server: string): Promise<Issued | undefined> {
    return this.#read(['issued', server, this.#account]);
  }

  /** Keeps what was found out about a server. */
  async keepIssued(server: string, issued: Issued): Promise<void> {
    await this.#store.set(nameOf(['issued', server, this.#account]), JSON.stringify(issued));
  }

  /** The tokens of this account for a resource, from an issuer. */
  tokens(of: Issued): Promise<KeptTokens | undefined> {
    return this.#read(this.#tokenKey(of));
  }

  /** Keeps tokens in place of earlier ones. */
  async keepTokens(of: Issued, tokens: KeptTokens): Promise<void> {
    await this.#store.set(nameOf(this.#tokenKey(of)), JSON.stringify(tokens));
  }

  /** Forgets the tokens of this account for a resource. */
  async dropTokens(of: Issued): Promise<void> {
    await this.#store.delete(nameOf(this.#tokenKey(of)));
  }

  /** Forgets tokens that were refused; others that somebody has kept meanwhile stay, and are given back. */
  async dropRefused(of: Issued, refused: KeptTokens): Promise<KeptTokens | undefined> {
    const kept = await this.tokens(of);
    if (kept && !isSame(kept, refused)) return kept;
    await this.dropTokens(of);
    return undefined;
  }

  /** The client that registered itself at an issuer. */
  client(issuer: string): Promise<KeptClient | undefined> {
    return this.#read(['client', issuer]);
  }

  /** Keeps a client that registered itself. */
  async keepClient(issuer: string, client: KeptClient): Promise<void> {
    await this.#store.set(nameOf(['client', issuer]), JSON.stringify(client));
  }

  /** Forgets a client the issuer does not know any more, unless another has registered meanwhile. */
  async dropClient(issuer: string, id: string): Promise<void> {
    if ((await this.client(issuer))?.id === id) await this.#store.delete(nameOf(['client', issuer]));
  }

  /**
   * Does work on a token set once, however many connections of this process ask for it at the same time, and while no
   * other process does, where the store can see to that.
   */
  once<T>(of: Issued, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const flights = flightsOf(this.#store);
    const name = nameOf(this.#tokenKey(of));
    const underWay = flights.get(name) as Promise<T> | undefined;
    if (underWay) return underWay;
    const alone = this.#store.exclusively?.(name, work, signal) ?? work();
    const flight = alone.finally(() => flights.delete(name));
    flights.set(name, flight);
    return flight;
  }

  #tokenKey({ issuer, resource }: Issued): readonly string[] {
    return ['tokens', issuer, resource, this.#account];
  }

  async #read<T>(key: readonly string[]): Promise<T | undefined> {
    const text = await this.#store.get(nameOf(key));
    return text === undefined ? undefined : (parseJson(text) as T);
  }
}

function isSame(one: KeptTokens, other: KeptTokens): boolean {
  return one.accessToken === other.accessToken && one.refreshToken === other.refreshToken;
}

// Addresses and accounts stay out of names: the list of files would tell who uses what.
function nameOf(key: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('base64url');
}

const flightsByStore = new WeakMap<CredentialStore, Map<string, Promise<unknown>>>();

function flightsOf(store: CredentialStore): Map<string, Promise<unknown>> {
  const flights = flightsByStore.get(store) ?? new Map<string, Promise<unknown>>();
  flightsByStore.set(store, flights);
  return flights;
}
