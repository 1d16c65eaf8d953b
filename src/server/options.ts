import type { Caller } from '../core/caller.ts';
import type { Clock } from '../base/clock.ts';
import type { ErrorCode } from '../base/errors.ts';
import type { Memory } from '../core/memory/memory.ts';
import type { Refusal } from '../core/record.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { ToolSource } from '../core/source.ts';
import type { Log } from '../observe/log.ts';
import type { JsonText } from '../protocol/revisions/revision.ts';
import type { Head } from './http/endpoint.ts';
import type { ProtectedResource } from './http/protected-resource.ts';

/** Everything a server can be told; only a source is needed. */
export interface ServerOptions {
  readonly source: ToolSource;
  /** How the server names itself; `toolcrib` unless set. */
  readonly name?: string;
  readonly version?: string;
  readonly title?: string;
  /** A hint for the model on how to use these tools together. */
  readonly instructions?: string;
  /**
   * Returns the caller, from the request's headers; with `undefined` or an exception the request is refused.
   * Return the same object for the same caller. Left out, the server is open to this machine alone.
   */
  readonly authenticate?: (head: Head) => Awaitable<Caller | undefined>;
  /** Where clients get tokens for this server; named in challenges and in the metadata they read (RFC 9728). */
  readonly resource?: ProtectedResource;
  /** Called with every refused request of a known caller that no stage has put on record. */
  readonly onRefusal?: (refusal: Refusal) => void;
  /** Called with every request that was refused before its caller was known. */
  readonly onUnknown?: (code: ErrorCode) => void;
  /** Allowed `Host` values; needed when listening beyond loopback. */
  readonly allowedHosts?: readonly string[];
  /** Web pages that may call, beside those of this machine: `https://app.example`. */
  readonly allowedOrigins?: readonly string[];
  /** The longest a call may take, 30 seconds unless set. */
  readonly deadlineMs?: number;
  /** Tools per page of a list, 1,000 unless set: many clients read only the first page. */
  readonly pageSize?: number;
  /** How structured data looks as text, `pretty` unless set. */
  readonly jsonText?: JsonText;
  /**
   * Who gets the error for arguments that break the schema: the model, as a result (the default), or the client
   * program, as a protocol error.
   */
  readonly invalidArguments?: 'result' | 'protocol';
  /** JSON-RPC numbers for clients that know others than those of the protocol. */
  readonly errorCodes?: { readonly toolNotFound?: number; readonly invalidArguments?: number };
  /**
   * What happens to a result that breaks its output schema: the call fails (unless set), or the result is sent without
   * its data.
   */
  readonly onInvalidOutput?: 'fail' | 'strip';
  /** The largest message taken, 1 MiB unless set. */
  readonly maxBodyBytes?: number;
  /** How many requests that are no calls each caller may send a minute, 6,000 unless set; a handshake counts as ten. */
  readonly requestsPerMinute?: number;
  /**
   * Lets tools hand out large results by link (`ctx.publish`); off unless set, because it makes the server offer
   * resources.
   */
  readonly publish?: boolean;
  /**
   * How results reach clients with a session: with the request, or queued for the session's own stream. `direct` unless
   * set.
   */
  readonly delivery?: 'direct' | 'queued';
  /** Where sessions, tasks and the like are kept; in this process unless set. */
  readonly memory?: Memory;
  readonly log?: Log;
  readonly clock?: Clock;
}
