import type { Awaitable } from '../../base/awaitable.ts';
import type { Clock } from '../../base/clock.ts';
import type { OutgoingRequest } from './authorizer.ts';
import { importDpopKey, proveRequest, type DpopKey } from './dpop.ts';
import type { Issued, KeptTokens, Vault } from './vault.ts';

/** What keeping the tokens of one server takes. */
export interface KeeperOptions {
  readonly server: URL;
  readonly vault: Vault;
  readonly clock: Clock;
  /** Ends the wait for others that renew the same tokens. */
  readonly signal: AbortSignal;
  /** Gets and keeps tokens without a person; `undefined` if these cannot be renewed, an error if it may work later. */
  readonly renew: (issued: Issued, tokens: KeptTokens) => Promise<KeptTokens | undefined>;
}

interface Current {
  readonly issued: Issued;
  readonly tokens: KeptTokens;
  readonly key: DpopKey | undefined;
  /** Made once: most requests carry the same ones. */
  readonly headers: Readonly<Record<string, string>>;
}

const NONE: Readonly<Record<string, string>> = Object.freeze({});
const PAUSE_MS = 30_000;

/** Has the tokens of one account for one server at hand, and renews them ahead of their end. */
export class TokenKeeper {
  readonly #options: KeeperOptions;
  #current: Current | undefined;
  #loading: Promise<void> | undefined;
  #isLoaded = false;
  #nonce: string | undefined;
  #notBefore = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The token requests carry now; none once it has ended. */
  get accessToken(): string | undefined {
    const tokens = this.#current?.tokens;
    return tokens && !this.#hasEnded(tokens) ? tokens.accessToken : undefined;
  }

  /** The scopes that were asked for with it. */
  get scopes(): readonly string[] {
    return this.#current?.tokens.scopes ?? [];
  }

  /** The nonce the server wants in proofs. */
  set nonce(nonce: string) {
    this.#nonce = nonce;
  }

  /** The headers of a request: none for another origin, and none without a token that is still good. */
  headers(request: OutgoingRequest): Awaitable<Readonly<Record<string, string>>> {
    if (!this.#isHere(request.url)) return NONE;
    if (!this.#isLoaded) return this.load().then(() => this.headers(request));
    const renewAt = this.#current?.tokens.renewAt;
    const now = this.#options.clock.now();
    if (renewAt === undefined || now < renewAt || now < this.#notBefore) return this.#headersNow(request);
    return this.#renewAhead(this.#current!).then(() => this.#headersNow(request));
  }

  /** Reads what was kept, once. */
  load(): Promise<void> {
    this.#loading ??= this.#read();
    return this.#loading;
  }

  /** Keeps new tokens, and uses them from now on. */
  async adopt(issued: Issued, tokens: KeptTokens): Promise<void> {
    await this.#options.vault.keepTokens(issued, tokens);
    await this.takeOver(issued, tokens);
  }

  /** Uses tokens that are kept already; written again, they could replace newer ones of another process. */
  async takeOver(issued: Issued, tokens: KeptTokens): Promise<void> {
    await this.#options.vault.keepIssued(this.#options.server.href, issued);
    await this.use(issued, tokens);
  }

  /** Uses tokens of the issuer that is known already. */
  async use(issued: Issued, tokens: KeptTokens): Promise<void> {
    const key = tokens.dpop && (await importDpopKey(tokens.dpop));
    this.#current = { issued, tokens, key, headers: { authorization: `Bearer ${tokens.accessToken}` } };
    this.#notBefore = 0;
  }

  /** Forgets the tokens, here and where they are kept; gives back what there was. */
  async drop(): Promise<Pick<Current, 'issued' | 'tokens'> | undefined> {
    await this.load();
    const current = this.#current;
    this.#current = undefined;
    if (current) await this.#options.vault.dropTokens(current.issued);
    return current;
  }

  // A token never goes to another origin, not even after a redirect or for a resolved link.
  #isHere(url: string): boolean {
    const { server } = this.#options;
    return url === server.href || (URL.canParse(url) && new URL(url).origin === server.origin);
  }

  #headersNow(request: OutgoingRequest): Awaitable<Readonly<Record<string, string>>> {
    const current = this.#current;
    if (!current || this.#hasEnded(current.tokens)) return NONE;
    if (!current.key) return current.headers;
    return proveRequest(request, current.key, {
      accessToken: current.tokens.accessToken,
      nonce: this.#nonce,
    });
  }

  #hasEnded({ expiresAt }: KeptTokens): boolean {
    return expiresAt !== undefined && this.#options.clock.now() >= expiresAt;
  }

  async #read(): Promise<void> {
    const { vault, server } = this.#options;
    const issued = await vault.issued(server.href);
    const tokens = issued && (await vault.tokens(issued));
    if (tokens) await this.use(issued, tokens);
    this.#isLoaded = true;
  }

  async #renewAhead({ issued, tokens }: Current): Promise<void> {
    const { clock } = this.#options;
    try {
      const fresh = await this.renewOnce(issued, tokens);
      if (fresh) await this.use(issued, fresh);
      else this.#notBefore = Infinity;
    } catch {
      // The token is good for a while yet; after that the server asks for another one.
      this.#notBefore = clock.now() + PAUSE_MS;
    }
  }

  /** Renews tokens once, however many ask; what another connection or process renewed meanwhile is taken instead. */
  renewOnce(issued: Issued, tokens: KeptTokens): Promise<KeptTokens | undefined> {
    const { vault, renew, signal } = this.#options;
    const work = async (): Promise<KeptTokens | undefined> => {
      const kept = await vault.tokens(issued);
      if (kept && kept.accessToken !== tokens.accessToken && !this.#hasEnded(kept)) return kept;
      // Of tokens that others have renewed since, only the newest can be renewed again.
      return renew(issued, kept ?? tokens);
    };
    return vault.once(issued, work, signal);
  }
}
