import type { Awaitable } from '../../base/awaitable.ts';
import type { Clock } from '../../base/clock.ts';
import type { OutboundOptions } from '../../net/outbound.ts';
import type { CredentialStore } from './credential-store.ts';

/** A client that was registered by hand at the authorization server. */
export interface RegisteredClient {
  readonly id: string;
  readonly secret?: string;
  /** A private key in PEM (PKCS 8), for `private_key_jwt`. */
  readonly privateKey?: string;
  /** The algorithm of the private key; ES256 unless set. */
  readonly algorithm?: string;
}

/** How tokens are asked for without a person: with the client's own credentials. */
export interface ClientCredentialsGrant {
  readonly kind: 'client_credentials';
}

/** How tokens are asked for with a token of the platform a program runs on (workload identity). */
export interface WorkloadGrant {
  readonly kind: 'workload';
  /** A signed token of the workload whose audience is the issuer. */
  assertion(issuer: string): Awaitable<string>;
}

/** How tokens are asked for through the identity provider of an organisation (enterprise-managed authorization). */
export interface EnterpriseGrant {
  readonly kind: 'enterprise';
  readonly provider: {
    /** Where the provider exchanges tokens. */
    readonly tokenEndpoint: string;
    readonly clientId: string;
    readonly clientSecret?: string;
  };
  /** The ID token the person has from the provider. */
  idToken(): Awaitable<string>;
}

/** How a client signs in to one server. */
export interface SignInOptions {
  /** The address of the MCP server, from the operator. */
  readonly server: string;
  /** Whose tokens these are; one server can be used under several accounts. */
  readonly account?: string;
  /**
   * The only authorization server that is accepted; has to be set with a client secret, a workload or an enterprise
   * grant.
   */
  readonly issuer?: string;
  /** A client that is registered already. */
  readonly client?: RegisteredClient;
  /** An https address where the client's own metadata document is; used where the authorization server supports it. */
  readonly clientMetadataUrl?: string;
  /** The name people see when a client registers itself; Toolcrib unless set. */
  readonly clientName?: string;
  /** Scopes to ask for instead of those the server names. */
  readonly scopes?: readonly string[];
  /** How tokens are asked for; a person signs in in a browser unless set. */
  readonly grant?: ClientCredentialsGrant | WorkloadGrant | EnterpriseGrant;
  /**
   * Opens a page in the person's browser; without it the address is handed out instead. Must not pass it to a shell.
   */
  readonly open?: (url: string) => Awaitable<void>;
  /** Where the browser comes back to; a free port of this machine unless set. */
  readonly redirectUrl?: string;
  /** How long a person has to sign in; five minutes unless set. */
  readonly patienceMs?: number;
  /** Where tokens are kept; in memory unless set. */
  readonly store?: CredentialStore;
  /** How addresses that were found in metadata are reached; public ones alone unless set. */
  readonly network?: Pick<OutboundOptions, 'resolve' | 'isAllowed' | 'ca' | 'proxies'>;
  readonly clock?: Clock;
}
