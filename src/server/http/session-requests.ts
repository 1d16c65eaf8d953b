import { ToolcribError } from '../../base/errors.ts';
import { headerValue } from '../../protocol/wire/headers.ts';
import type { Head } from './endpoint.ts';
import type { HttpLink } from './http-link.ts';
import type { KeepAlive } from '../sessions/keep-alive.ts';
import type { RequestRates } from '../request-rates.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { ResumableStream } from '../sessions/stream.ts';

/** Answers the requests that concern a session and not a message: GET opens its stream, DELETE ends it. */
export class SessionRequests {
  readonly #sessions: Sessions;
  readonly #keepAlive: KeepAlive;
  readonly #rates: RequestRates;

  constructor(sessions: Sessions, keepAlive: KeepAlive, rates: RequestRates) {
    this.#sessions = sessions;
    this.#keepAlive = keepAlive;
    this.#rates = rates;
  }

  /** Answers through the link; throws the refusal, if there is one. */
  async answer(head: Head, link: HttpLink): Promise<void> {
    const tooMany = this.#rates.refuse(link.caller);
    if (tooMany) throw tooMany;
    const id = headerValue(head.headers, 'mcp-session-id');
    if (id === undefined) {
      throw new ToolcribError(
        'method_not_allowed',
        'Send messages with POST; without a session there is nothing else here.',
      );
    }
    if (head.method === 'DELETE') {
      await this.#sessions.end(id, link.caller);
      link.finish({ status: 204, body: undefined });
    } else await this.#follow(await this.#sessions.find(id, link.caller), link);
  }

  async #follow(session: Session, link: HttpLink): Promise<void> {
    if (!link.canStream)
      throw new ToolcribError('not_acceptable', 'A session stream needs "Accept: text/event-stream".');
    const lastEventId = headerValue(link.headers, 'last-event-id');
    const stream =
      lastEventId === undefined
        ? attach(session.serverStream, link)
        : await resume(session.streamsOf(lastEventId), lastEventId, link);
    link.follow(stream, this.#keepAlive);
  }
}

function attach(stream: ResumableStream, link: HttpLink): ResumableStream {
  if (stream.attached)
    throw new ToolcribError('stream_taken', 'This session has a stream already; close that one first.');
  stream.attach(link);
  return stream;
}

async function resume(
  streams: readonly ResumableStream[],
  lastEventId: string,
  link: HttpLink,
): Promise<ResumableStream> {
  for (const stream of streams) {
    switch (await stream.resume(lastEventId, link)) {
      case 'resumed':
        return stream;
      case 'unknown':
        continue;
      case 'over':
        // Clients reconnect to a stream that ended without a result until a response tells them to stop: this one.
        throw new ToolcribError(
          'method_not_allowed',
          'This stream has ended, and everything on it was sent.',
        );
    }
  }
  throw new ToolcribError('unknown_session', 'There is nothing to go on with after this event.');
}
