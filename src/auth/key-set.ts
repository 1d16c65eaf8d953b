import type { CryptoKey, JSONWebKeySet, JWSHeaderParameters } from 'jose';
import type { Clock } from '../base/clock.ts';
import { parseJson } from '../base/parse-json.ts';
import type { FetchedDocument } from './fetch-document.ts';

/** How an issuer's public keys are read. */
export interface KeySetOptions {
  readonly read: () => Promise<FetchedDocument>;
  readonly clock: Clock;
}

const DEFAULT_AGE_MS = 10 * 60_000;
const MIN_AGE_MS = 30_000;
const MAX_AGE_MS = 60 * 60_000;
// An invented key id must not cause a request to the issuer each time.
const UNKNOWN_KEY_MS = 30_000;
const RETRY_MS = 1_000;
const MAX_KEYS = 100;

type Select = (header: JWSHeaderParameters) => Promise<CryptoKey>;

/** A key, and the edition of the issuer's document it is from. */
export interface FoundKey {
  readonly key: CryptoKey;
  readonly edition: object;
}

/** An issuer's public keys, fetched when needed and no more often. */
export class KeySet {
  readonly #options: KeySetOptions;
  #select: Select | undefined;
  #text = '';
  #fetchedAt = -Infinity;
  #triedAt = -Infinity;
  #maxAgeMs = 0;
  #fetching: Promise<void> | undefined;

  constructor(options: KeySetOptions) {
    this.#options = options;
  }

  /** The key of a signature; fails if the issuer has no such key or cannot be reached. */
  async find(header: JWSHeaderParameters): Promise<FoundKey> {
    await this.#prepare();
    try {
      return await this.#pick(header);
    } catch (error) {
      if (!isUnknownKey(error) || this.#ticks() - this.#triedAt < UNKNOWN_KEY_MS) throw error;
      await this.#refresh();
      return this.#pick(header);
    }
  }

  /** Whether a key of this edition is still valid: the issuer's document is fresh and unchanged. */
  isCurrent(edition: object | undefined): boolean {
    return edition === this.#select && this.#isGood();
  }

  async #pick(header: JWSHeaderParameters): Promise<FoundKey> {
    const edition = this.#select!;
    return { key: await edition(header), edition };
  }

  async #prepare(): Promise<void> {
    if (this.#isGood()) return;
    if (!this.#fetching && this.#ticks() - this.#triedAt < RETRY_MS)
      throw new Error("The issuer's keys could not be read a moment ago.");
    await this.#refresh();
  }

  // Keys that stay valid for a while are refreshed without waiting.
  #isGood(): boolean {
    const now = this.#ticks();
    const age = now - this.#fetchedAt;
    if (!this.#select || age >= this.#maxAgeMs) return false;
    const isDue = age >= this.#maxAgeMs * 0.8 && now - this.#triedAt >= RETRY_MS;
    if (isDue && !this.#fetching) this.#refresh().catch(() => {});
    return true;
  }

  #refresh(): Promise<void> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    this.#triedAt = this.#ticks();
    const { text, maxAgeSeconds } = await this.#options.read();
    const { createLocalJWKSet } = await import('jose');
    const keys = (parseJson(text) as Partial<JSONWebKeySet>).keys;
    if (!Array.isArray(keys) || keys.length > MAX_KEYS)
      throw new Error(`The issuer's document does not hold one to ${MAX_KEYS} keys.`);
    // The same document is the same edition, so that keys found in it stay valid.
    if (!this.#select || text !== this.#text) this.#select = createLocalJWKSet({ keys });
    this.#text = text;
    this.#fetchedAt = this.#triedAt;
    const ageMs = maxAgeSeconds === undefined ? DEFAULT_AGE_MS : maxAgeSeconds * 1_000;
    this.#maxAgeMs = Math.min(Math.max(ageMs, MIN_AGE_MS), MAX_AGE_MS);
  }

  #ticks(): number {
    return this.#options.clock.ticks();
  }
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_NO_MATCHING_KEY';
}
