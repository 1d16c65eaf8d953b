import type { Cancellation } from '../core/cancellation.ts';
import { accident, rowOf, ToolcribError } from '../core/errors.ts';
import { attempt, andThen, type Awaitable } from '../core/source.ts';
import type { Log } from '../observe/log.ts';
import { eraOf, type Era } from '../protocol/era.ts';
import { checkMirrors, headerValue } from '../protocol/headers.ts';
import {
  encodeError,
  encodeResult,
  parseMessage,
  type NotificationMessage,
  type RequestMessage,
} from '../protocol/json-rpc.ts';
import { JsonScanner } from '../protocol/json-scan.ts';
import { clientFacts, readModernMeta } from '../protocol/meta.ts';
import type { Implementation, Revision } from '../protocol/revision.ts';
import { modernVersions, newestLegacy, revisionOf } from '../protocol/revisions.ts';
import type { Dispatch, Settled } from './dispatch.ts';
import type { Answer, Connection, Link } from './link.ts';

/** What an exchange needs to know about the server. */
export interface ExchangeOptions {
  readonly dispatch: Dispatch;
  readonly info: Implementation;
  readonly instructions: string | undefined;
  /** Whether the source tells of changes, so that a lasting connection can be told too. */
  readonly watches: boolean;
  readonly log: Log;
}

const ACCEPTED: Answer = { status: 202, body: undefined };
// A client that cancelled wants to hear nothing more of the request.
const CANCELLED: Answer = { status: 202, body: undefined };

/** One message in, one answer out: the same function behind every transport. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #scanner = new JsonScanner();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Answers a message, at once where it can; never fails, and answers a notification with nothing. */
  answer(bytes: Uint8Array, link: Link): Awaitable<Answer> {
    const message = parseMessage(bytes, this.#scanner);
    switch (message.kind) {
      case 'request':
        return this.#answerRequest(message, link);
      case 'notification':
        return this.#takeNotification(message, link);
      case 'response':
        return refuse(
          undefined,
          new ToolcribError('invalid_request', 'Nothing was asked, so there is nothing to answer.'),
        );
      case 'invalid':
        return refuse(message.idText, message.error);
    }
  }

  #answerRequest(message: RequestMessage, link: Link): Awaitable<Answer> {
    const { idText } = message;
    let era: Era | undefined;
    return attempt(
      () => {
        era = eraOf(message, versionHeader(link));
        link.hangUpCancels = era === 'modern';
        const settled = era === 'modern' ? settleModern(message, link) : settleLegacy(message, link);
        if (!settled.revision.methods.has(message.method)) throw unknownMethod(settled);
        return andThen(this.#perform(settled), (result) => {
          link.answered = true;
          if (typeof result === 'string') return { status: 200, body: encodeResult(idText, result) };
          return { status: 200, body: [`{"jsonrpc":"2.0","id":${idText},"result":`, result, '}'] };
        });
      },
      (error) => {
        link.answered = true;
        const known = error instanceof ToolcribError ? error : this.#report(error);
        if (known.code === 'cancelled') return CANCELLED;
        // Clients of the older revisions take a 404 or 400 for the loss of their session.
        const status = era === 'legacy' && known.code !== 'invalid_request' ? 200 : statusOf(known);
        return { status, body: encodeError(idText, known) };
      },
    );
  }

  #perform(settled: Settled): Awaitable<string | Buffer> {
    const { message, link } = settled;
    switch (message.method) {
      case 'tools/call':
        return this.#tracked(settled, () => this.#options.dispatch.callTool(settled));
      case 'tools/list':
        return this.#options.dispatch.listTools(settled);
      case 'ping':
        return '{}';
      case 'initialize':
        if (link.connection) shakeHands(link.connection, settled);
        return this.#introduce(settled);
      case 'server/discover':
        return this.#introduce(settled);
      default:
        throw unknownMethod(settled);
    }
  }

  // On a lasting connection the client cancels by id, so calls under way are kept by id.
  #tracked<T>({ message, link }: Settled, run: () => Awaitable<T>): Awaitable<T> {
    const underWay = link.connection?.underWay;
    if (!underWay) return run();
    if (underWay.has(message.id)) {
      throw new ToolcribError('invalid_request', 'A request with this id is still under way.');
    }
    underWay.set(message.id, link.cancellation);
    const done = (): boolean => underWay.delete(message.id);
    const result = attempt(run, (error) => {
      done();
      throw error;
    });
    return andThen(result, (value) => {
      done();
      return value;
    });
  }

  #introduce({ revision, link }: Settled): string {
    const { info, instructions, watches } = this.#options;
    // Changes are announced only where they are delivered: unasked, on a lasting connection of the older revisions.
    const listChanged = watches && revision.era === 'legacy' && link.connection !== undefined;
    return JSON.stringify(
      revision.introduce({ info, instructions, listChanged, supportedVersions: modernVersions }),
    );
  }

  #takeNotification(message: NotificationMessage, link: Link): Answer {
    const { connection } = link;
    if (message.method === 'notifications/cancelled')
      cancelCall(connection?.underWay, message.params?.['requestId']);
    if (message.method === 'notifications/initialized' && connection?.revision) connection.ready = true;
    return ACCEPTED;
  }

  #report(error: unknown): ToolcribError {
    const known = accident('internal', 'The server failed unexpectedly', error);
    this.#options.log('error', known.message, { incident: known.incident, cause: error });
    return known;
  }
}

function unknownMethod({ message, revision }: Settled): ToolcribError {
  return new ToolcribError(
    'unknown_method',
    `${revision.version} has no method "${message.method.slice(0, 80)}".`,
  );
}

/** The answer to a request that is refused before or instead of being dispatched. */
export function refuse(idText: string | undefined, error: ToolcribError): Answer {
  return { status: statusOf(error), body: encodeError(idText, error) };
}

function statusOf(error: ToolcribError): number {
  return rowOf(error.code).status ?? 200;
}

function versionHeader(link: Link): string | undefined {
  return link.headers && headerValue(link.headers, 'mcp-protocol-version');
}

function settleModern(message: RequestMessage, link: Link): Settled {
  const { version, client } = readModernMeta(message.params);
  const header = versionHeader(link);
  if (header !== undefined && header !== version) {
    throw new ToolcribError(
      'header_mismatch',
      'MCP-Protocol-Version differs from the version in "params._meta".',
    );
  }
  const revision = revisionOf(version);
  if (revision?.era !== 'modern') {
    throw new ToolcribError(
      'unsupported_version',
      `Protocol version ${version.slice(0, 40)} is not supported here.`,
      {
        data: { supported: modernVersions, requested: version },
      },
    );
  }
  if (link.headers) checkMirrors(message, version, link.headers);
  return { message, revision, client, link };
}

function settleLegacy(message: RequestMessage, link: Link): Settled {
  if (message.method === 'initialize') {
    const { protocolVersion, clientInfo, capabilities } = message.params ?? {};
    const wanted = typeof protocolVersion === 'string' ? revisionOf(protocolVersion) : undefined;
    const revision = wanted?.era === 'legacy' ? wanted : newestLegacy;
    return { message, revision, client: clientFacts(revision.version, clientInfo, capabilities), link };
  }
  const { connection } = link;
  const revision = connection?.revision ?? legacyRevision(versionHeader(link));
  return { message, revision, client: connection?.client ?? clientFacts(revision.version), link };
}

function legacyRevision(version: string | undefined): Revision {
  const revision = version === undefined ? newestLegacy : revisionOf(version);
  if (revision?.era === 'legacy') return revision;
  throw new ToolcribError(
    'invalid_request',
    `MCP-Protocol-Version names ${version!.slice(0, 40)}, which is not supported here.`,
  );
}

function shakeHands(connection: Connection, { revision, client }: Settled): void {
  connection.revision = revision;
  connection.client = client;
}

function cancelCall(underWay: ReadonlyMap<string | number, Cancellation> | undefined, id: unknown): void {
  underWay
    ?.get(id as string | number)
    ?.abort(new ToolcribError('cancelled', 'The client cancelled the request.'));
}
