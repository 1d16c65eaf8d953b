import type { Clock } from '../base/clock.ts';
import type { ClientLogLevel, Progress } from '../core/call.ts';
import type { Proxies } from '../net/proxies.ts';
import type { Implementation } from '../protocol/revisions/revision.ts';
import type { Authorizer } from './sign-in/authorizer.ts';
import type { QuestionHandlers } from './question-handlers.ts';
import type { OnMessage } from './traffic.ts';

/** How long the parts of a connection may take, in milliseconds. */
export interface Timeouts {
  /** From the first byte to a server that is ready, all steps together; begins anew when a sign-in was needed. */
  readonly connectMs: number;
  /** One page of a list. */
  readonly listMs: number;
  /** A call or another request; progress lets it begin anew. */
  readonly callMs: number;
  /** The longest a request may take, whatever progress it reports. */
  readonly absoluteMs: number;
  /** How long a stream may be silent before it is taken for dead. */
  readonly idleMs: number;
}

/** How much is taken from a server. */
export interface Limits {
  /** One message or event; all pages of a list together may have four times as much. */
  readonly messageBytes: number;
  /** Messages of one request before its answer. */
  readonly messagesPerRequest: number;
  /** Pages of one list. */
  readonly pages: number;
  /** Rounds of questions of one call. */
  readonly rounds: number;
  /** Requests of the server that wait for an answer at one time. */
  readonly openQuestions: number;
}

/** The limits of time unless they are set. */
export const defaultTimeouts: Timeouts = {
  connectMs: 30_000,
  listMs: 30_000,
  callMs: 60_000,
  absoluteMs: 600_000,
  idleMs: 300_000,
};

/** The limits of size unless they are set. */
export const defaultLimits: Limits = {
  messageBytes: 16 * 1_048_576,
  messagesPerRequest: 10_000,
  pages: 1_000,
  rounds: 10,
  openQuestions: 32,
};

/** What can be set for a connection to a server, whatever the transport. */
export interface ClientOptions {
  /** How the client names itself to the server. */
  readonly info?: Implementation;
  /**
   * `auto` asks the server; `modern` and `legacy` do not accept the other era; a revision is spoken without asking.
   */
  readonly protocol?: 'auto' | 'modern' | 'legacy' | (string & {});
  /** Answers what the server asks; what has no handler is not declared. */
  readonly handlers?: QuestionHandlers;
  /**
   * What is declared to the server besides what the handlers can do: more of it, such as `{ sampling: { tools: {} } }`,
   * or what has no handler, because the calls of `client.call` bring their own client to answer. Of such a client a
   * server of the newest revision is told with each call instead.
   */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** Who the server is to people: stands in front of what it asks them, and in failures of its connection. */
  readonly askedBy?: string;
  readonly timeouts?: Partial<Timeouts>;
  readonly limits?: Partial<Limits>;
  /** Whether arguments are checked against the tool's schema before they are sent; they are unless `false`. */
  readonly checkArguments?: boolean;
  /** What happens to a result that breaks the tool's output schema: a warning unless set. */
  readonly checkResults?: 'off' | 'warn' | 'strict';
  /** Whether the server may answer a call with a task, which is then polled; it may unless `false`. */
  readonly tasks?: boolean;
  /** The lowest level of log messages to receive; none unless set. */
  readonly logLevel?: ClientLogLevel;
  /** Trace context for a request: `traceparent`, `tracestate` and `baggage`. */
  readonly trace?: () => Readonly<Record<string, string>> | undefined;
  /** Whether changed lists are loaded again at once; they are unless `false`, as far as somebody listens. */
  readonly refreshLists?: boolean;
  /** Told of every message in both directions; for recordings. */
  readonly onMessage?: OnMessage;
  /** Ends the attempt to connect; of no effect once there is a connection. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** What can be set for a connection over HTTP. */
export interface HttpOptions extends ClientOptions {
  /** Sent with every request, and to no other origin. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `sse` is the transport of 2024-11-05; it is tried last unless set. */
  readonly transport?: 'http' | 'sse';
  /** Signs in where the server asks for it. */
  readonly authorizer?: Authorizer;
  /** `public` refuses addresses of private networks; for URLs that did not come from the operator. */
  readonly addresses?: 'any' | 'public';
  /** Connections at one time; 128 unless set. */
  readonly maxConnections?: number;
  /** Proxies to go through; none unless set, whatever the environment says. */
  readonly proxies?: Proxies;
  /** Certificates of authorities to trust instead of the usual ones. */
  readonly ca?: string;
  /** A client certificate and its key, both PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/** What can be set for one request. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Instead of `timeouts.callMs`. */
  readonly timeoutMs?: number;
  /** Called with each progress the server reports. */
  readonly onProgress?: (progress: Progress) => void;
  /** Members of `_meta` to send along. */
  readonly meta?: Readonly<Record<string, unknown>>;
}
