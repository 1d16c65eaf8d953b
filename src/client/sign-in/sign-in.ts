import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';
import { within } from '../../base/within.ts';
import { beginSignIn, completeSignIn, type PendingSignIn } from './authorization-code.ts';
import type { Authorizer, Challenge, NeedsSignIn, OutgoingRequest } from './authorizer.ts';
import { callbackPath, listenForCallback, type CallbackListener } from './callback-listener.ts';
import { readChallenge, type ReadChallenge } from './challenge.ts';
import { memoryCredentials } from './credential-store.ts';
import { discover, rediscover, type TokenSource } from './discover.ts';
import { createDpopKey, importDpopKey } from './dpop.ts';
import { failedStep, refusalCode, signInFailed } from './failure.ts';
import { grantTokens } from './grants.ts';
import type { SignInOptions } from './options.ts';
import { createSignInOutbound, type SignInOutbound } from './outbound.ts';
import { clientOfTokens, obtainClient, registersItself, type Registrar } from './registration.ts';
import { TokenKeeper } from './token-keeper.ts';
import { refreshTokens, revokeToken, type TokenRequestParts } from './token-requests.ts';
import { Vault, type Issued, type KeptTokens } from './vault.ts';

/** The sign-in of one account at one server: an `Authorizer` that can also be finished by hand and signed out. */
export interface ClientSignIn extends Authorizer {
  /** Finishes a sign-in that was handed out, with the address the browser ended up at. */
  finish(redirectedTo: string): Promise<void>;
  /** Forgets the tokens of this account for this server, and tells the authorization server; `false` without any. */
  signOut(): Promise<boolean>;
}

/** Makes the sign-in for one server. */
export function createClientSignIn(options: SignInOptions): ClientSignIn {
  return new OAuthSignIn(checkOptions(options));
}

type Outcome = 'retry' | NeedsSignIn;

interface Begun extends PendingSignIn {
  readonly issued: Issued;
}

const MAX_RETRIES = 3;
const PATIENCE_MS = 5 * 60_000;
const THIS_MACHINE = 'http://127.0.0.1';

class OAuthSignIn implements ClientSignIn {
  readonly #options: SignInOptions;
  readonly #server: URL;
  readonly #clock: Clock;
  readonly #vault: Vault;
  readonly #outbound: SignInOutbound;
  readonly #keeper: TokenKeeper;
  readonly #closing = new AbortController();
  readonly #flights = new Map<string, Promise<Outcome>>();
  #last: Promise<unknown> = Promise.resolve();
  #pending: Begun | undefined;

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#server = new URL(options.server);
    this.#clock = options.clock ?? systemClock;
    this.#vault = new Vault(options.store ?? memoryCredentials(), options.account ?? '');
    this.#outbound = createSignInOutbound({
      ...options.network,
      server: this.#server,
      given: [options.issuer, providerOf(options)].filter((url) => url !== undefined),
    });
    this.#keeper = new TokenKeeper({
      server: this.#server,
      vault: this.#vault,
      clock: this.#clock,
      signal: this.#closing.signal,
      renew: (issued, tokens) => this.#renew(issued, tokens),
    });
  }

  headers(request: OutgoingRequest): ReturnType<TokenKeeper['headers']> {
    return this.#keeper.headers(request);
  }

  challenged(challenge: Challenge, signal?: AbortSignal): Promise<Outcome> {
    const key = `${challenge.status} ${challenge.sent['authorization'] ?? ''} ${challenge.wwwAuthenticate ?? ''}`;
    const flight = this.#flights.get(key) ?? this.#start(key, challenge);
    return signal ? within(Infinity, signal, flight) : flight;
  }

  async finish(redirectedTo: string): Promise<void> {
    const pending = this.#pending;
    if (!pending || pending.expiresAt <= this.#clock.now())
      throw signInFailed('No sign-in is under way, or it took too long; begin again.');
    const answer = URL.canParse(redirectedTo) ? new URL(redirectedTo) : undefined;
    if (answer?.searchParams.get('state') !== pending.state)
      throw signInFailed('This is not the answer to the sign-in; paste the whole address the browser shows.');
    if (answer.pathname !== new URL(pending.redirectUri).pathname)
      throw signInFailed(
        'The answer came back to the address of another authorization server, so it was not used; sign in again.',
      );
    await this.#complete(pending, answer);
  }

  async signOut(): Promise<boolean> {
    const dropped = await this.#keeper.drop();
    if (!dropped) return false;
    const { issued, tokens } = dropped;
    try {
      const parts = await this.#requestPartsFor(issued, tokens);
      if (parts.client) await revokeToken(parts, tokens.refreshToken ?? tokens.accessToken);
    } catch {
      // The tokens are removed here; a server that could not revoke them does not matter to the caller.
    }
    return true;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#pending = undefined;
    await this.#last;
  }

  // One after the other, and each only once: ten refused requests open one page.
  #start(key: string, challenge: Challenge): Promise<Outcome> {
    const flight = this.#last.then(() => this.#answer(challenge));
    this.#flights.set(key, flight);
    const forget = (): void => void this.#flights.delete(key);
    this.#last = flight.then(forget, forget);
    return flight;
  }

  async #answer(challenge: Challenge): Promise<Outcome> {
    if (this.#closing.signal.aborted) throw signInFailed('The connection was closed.');
    if (!URL.canParse(challenge.url) || new URL(challenge.url).origin !== this.#server.origin)
      throw signInFailed('Another server than the one that was signed in to asks for a token; it gets none.');
    if (challenge.retries >= MAX_RETRIES)
      throw signInFailed('The server keeps refusing the tokens it asked for; tell its operator.');
    await this.#keeper.load();
    const asked = readChallenge(challenge.wwwAuthenticate);
    if (challenge.dpopNonce !== undefined) {
      this.#keeper.nonce = challenge.dpopNonce;
      if (asked.error === 'use_dpop_nonce') return 'retry';
    }
    const sent = tokenIn(challenge.sent);
    if (this.#keeper.accessToken !== undefined && sent !== this.#keeper.accessToken) return 'retry';
    return challenge.status === 403 ? this.#stepUp(asked) : this.#signInAgain(asked, challenge);
  }

  async #signInAgain(asked: ReadChallenge, { sent, retries }: Challenge): Promise<Outcome> {
    const place = await this.#discover(asked);
    const kept = await this.#vault.tokens(place.issued);
    if (kept && retries === 0) {
      const refused = tokenIn(sent);
      const isOther = kept.accessToken !== refused && (kept.expiresAt ?? Infinity) > this.#clock.now();
      const fresh = isOther ? kept : await this.#keeper.renewOnce(place.issued, kept);
      if (fresh) {
        await this.#keeper.takeOver(place.issued, fresh);
        return 'retry';
      }
    }
    if (retries > 1)
      throw signInFailed('The server refuses a token it has just asked for; tell its operator.');
    const wanted = this.#options.scopes ?? place.scopes ?? [];
    return this.#acquire(place, union(kept?.scopes ?? [], wanted));
  }

  async #stepUp(asked: ReadChallenge): Promise<Outcome> {
    if (asked.error !== 'insufficient_scope' || !asked.scopes)
      throw signInFailed('The server refuses what this account asks for; use another account.');
    const before = this.#keeper.scopes;
    if (asked.scopes.every((scope) => before.includes(scope)))
      throw signInFailed('This account was not given what the server asks for; use another account.');
    return this.#acquire(await this.#discover(asked), union(before, asked.scopes));
  }

  async #acquire(place: TokenSource, scopes: readonly string[]): Promise<Outcome> {
    if (!this.#options.grant) return this.#askPerson(place, scopes);
    const parts = await this.#requestParts(place, scopes);
    const tokens = await grantTokens(parts, this.#options.grant);
    await this.#keeper.adopt(place.issued, tokens);
    return 'retry';
  }

  async #askPerson(place: TokenSource, wanted: readonly string[]): Promise<Outcome> {
    const { redirectUrl, open } = this.#options;
    const offline = place.server.scopes_supported?.includes('offline_access') ? ['offline_access'] : [];
    const scopes = union(wanted, offline);
    const earlier = this.#pending;
    if (!open && earlier && this.#isStillGood(earlier, place.issued, scopes)) return needsSignIn(earlier);
    const path = this.#callbackPath(place);
    const listener = await this.#listen(place.issued.issuer, path);
    try {
      // Where nothing listens, the person copies the address from the browser.
      const redirectUri = listener?.redirectUri ?? redirectUrl ?? `${THIS_MACHINE}${path}`;
      const client = await obtainClient(place.server, redirectUri, this.#registrar());
      const parts = { ...(await this.#requestParts(place, scopes)), client };
      const pending = { ...(await beginSignIn(parts, redirectUri)), issued: place.issued };
      this.#pending = pending;
      if (!listener) return needsSignIn(pending);
      const patience = this.#options.patienceMs ?? PATIENCE_MS;
      const answer = listener.answer(pending.state, patience, this.#closing.signal);
      // Avoids an unhandled rejection if the page cannot be opened.
      answer.catch(() => {});
      if (!(await this.#isOpened(pending.url))) return needsSignIn(pending);
      await this.#complete(pending, await answer);
      return 'retry';
    } finally {
      await listener?.close();
    }
  }

  // An issuer that does not name itself in its answers cannot be told from another one but by where they arrive.
  #callbackPath({ server, issued }: TokenSource): string {
    return callbackPath(registersItself(server, this.#options) ? issued.issuer : undefined);
  }

  async #listen(issuer: string, path: string): Promise<CallbackListener | undefined> {
    const { open, redirectUrl } = this.#options;
    if (!open || (redirectUrl !== undefined && !isLoopback(new URL(redirectUrl).hostname))) return undefined;
    // The port that was registered is tried first.
    const registered = new URL((await this.#vault.client(issuer))?.redirectUri ?? THIS_MACHINE);
    const isUsable = registered.port !== '' && registered.pathname === path;
    return listenForCallback(redirectUrl, isUsable ? registered.href : `${THIS_MACHINE}:0${path}`);
  }

  // Without a browser on this machine the address is handed out.
  async #isOpened(url: string): Promise<boolean> {
    try {
      await this.#options.open?.(url);
      return true;
    } catch {
      return false;
    }
  }

  #isStillGood(pending: Begun, of: Issued, scopes: readonly string[]): boolean {
    return (
      pending.issued.issuer === of.issuer &&
      pending.expiresAt > this.#clock.now() &&
      scopes.every((scope) => pending.parts.scopes.includes(scope))
    );
  }

  // A state is valid once, even if the exchange fails.
  async #complete(pending: Begun, answer: URL): Promise<void> {
    this.#pending = undefined;
    await this.#keeper.adopt(pending.issued, await completeSignIn(pending, answer));
  }

  async #renew(issued: Issued, tokens: KeptTokens): Promise<KeptTokens | undefined> {
    const { grant } = this.#options;
    if (!grant && tokens.refreshToken === undefined) return undefined;
    const parts = await this.#requestPartsFor(issued, tokens);
    if (!grant && !parts.client) return undefined;
    let fresh: KeptTokens;
    try {
      fresh = await (grant ? grantTokens(parts, grant) : refreshTokens(parts, tokens.refreshToken!));
    } catch (error) {
      const code = refusalCode(error);
      if (code === undefined) throw failedStep('The token could not be renewed', error);
      // The server refused: asking again is useless, the person has to sign in.
      if (code === 'invalid_client') await this.#vault.dropClient(issued.issuer, tokens.clientId);
      return this.#vault.dropRefused(issued, tokens);
    }
    await this.#vault.keepTokens(issued, fresh);
    return fresh;
  }

  #discover(asked: ReadChallenge): Promise<TokenSource> {
    return discover(this.#server, asked, { outbound: this.#outbound, limits: this.#options });
  }

  async #requestParts(place: TokenSource, scopes: readonly string[]): Promise<TokenRequestParts> {
    return {
      server: place.server,
      client: this.#options.client,
      resource: place.issued.resource,
      scopes,
      dpop: place.needsDpop ? await createDpopKey() : undefined,
      outbound: this.#outbound,
      now: this.#clock.now(),
      signal: this.#closing.signal,
    };
  }

  async #requestPartsFor(issued: Issued, tokens: KeptTokens): Promise<TokenRequestParts> {
    return {
      server: await rediscover(issued, this.#outbound),
      client: await clientOfTokens(tokens.clientId, issued.issuer, this.#registrar()),
      resource: issued.resource,
      scopes: tokens.scopes,
      dpop: tokens.dpop && (await importDpopKey(tokens.dpop)),
      outbound: this.#outbound,
      now: this.#clock.now(),
      signal: this.#closing.signal,
    };
  }

  #registrar(): Registrar {
    return {
      options: this.#options,
      vault: this.#vault,
      outbound: this.#outbound,
      now: this.#clock.now(),
    };
  }
}

function needsSignIn({ url }: PendingSignIn): NeedsSignIn {
  return {
    kind: 'needs_sign_in',
    url,
    reason: 'The server wants to know who is calling.',
    remedy: 'Open the address in a browser and sign in; then finish with the address the browser ends up at.',
  };
}

function tokenIn(headers: Readonly<Record<string, string>>): string | undefined {
  return /^(?:Bearer|DPoP) (.+)$/.exec(headers['authorization'] ?? '')?.[1];
}

function union(some: readonly string[], others: readonly string[]): readonly string[] {
  return [...new Set([...some, ...others])];
}

function providerOf({ grant }: SignInOptions): string | undefined {
  return grant?.kind === 'enterprise' ? grant.provider.tokenEndpoint : undefined;
}

function checkOptions(options: SignInOptions): SignInOptions {
  const { server, grant, client, clientMetadataUrl } = options;
  if (!/^https?:$/.test(URL.canParse(server) ? new URL(server).protocol : ''))
    throw new ToolcribError(
      'invalid_setup',
      'The address of the server must begin with https:// or http://.',
    );
  if (grant && grant.kind !== 'workload' && !client)
    throw new ToolcribError(
      'invalid_setup',
      `The grant ${grant.kind} needs a registered client; give its id.`,
    );
  if (clientMetadataUrl !== undefined && !/^https:\/\/[^/]+\/./.test(clientMetadataUrl))
    throw new ToolcribError(
      'invalid_setup',
      'The metadata document of a client needs an https address with a path.',
    );
  return options;
}
