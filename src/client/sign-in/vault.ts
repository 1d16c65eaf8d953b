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

  /** The client that registered itself at an issuer. */
  client(issuer: string): Promise<KeptClient | undefined> {
    return this.#read(['client', issuer]);
  }

  /** Keeps a client that registered itself. */
  async keepClient(issuer: string, client: KeptClient): Promise<void> {
    await this.#store.set(nameOf(['client', issuer]), JSON.stringify(client));
  }

  /** Forgets a client the issuer does not know any more. */
  async dropClient(issuer: string): Promise<void> {
    await this.#store.delete(nameOf(['client', issuer]));
  }

  /** Does work on a token set once, however many connections of this process ask for it at the same time. */
  once<T>(of: Issued, work: () => Promise<T>): Promise<T> {
    const flights = flightsOf(this.#store);
    const name = nameOf(this.#tokenKey(of));
    const underWay = flights.get(name) as Promise<T> | undefined;
    if (underWay) return underWay;
    const flight = work().finally(() => flights.delete(name));
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
