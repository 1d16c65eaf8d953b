import { ToolcribError } from '../core/errors.ts';
import { headerValue } from '../protocol/headers.ts';
import type { Head } from './endpoint.ts';
import type { HttpLink } from './http-link.ts';
import type { Pulse } from './pulse.ts';
import type { Session } from './session.ts';
import type { Sessions } from './sessions.ts';
import type { ResumableStream } from './stream.ts';

/** Answers the requests that concern a session and not a message: GET opens its stream, DELETE ends it. */
export class SessionRequests {
  readonly #sessions: Sessions;
  readonly #pulse: Pulse;

  constructor(sessions: Sessions, pulse: Pulse) {
    this.#sessions = sessions;
    this.#pulse = pulse;
  }

  /** Answers through the link; throws what is to be refused. */
  async answer(head: Head, link: HttpLink): Promise<void> {
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
    const stream = lastEventId === undefined ? session.unasked : session.streamOf(lastEventId);
    if (!stream) throw gone();
    if (lastEventId === undefined && stream.attached) {
      throw new ToolcribError('stream_taken', 'This session has a stream already.');
    }
    if (lastEventId === undefined) stream.attach(link);
    else await resume(stream, lastEventId, link);
    link.follow(stream, this.#pulse);
  }
}

async function resume(stream: ResumableStream, lastEventId: string, link: HttpLink): Promise<void> {
  switch (await stream.resume(lastEventId, link)) {
    case 'resumed':
      return;
    case 'unknown':
      throw gone();
    case 'over':
      // Clients come back to a stream that ended without a result until they are told to stop, and this tells them.
      throw new ToolcribError('method_not_allowed', 'This stream has ended, and everything on it was sent.');
  }
}

function gone(): ToolcribError {
  return new ToolcribError('unknown_session', 'There is nothing to go on with after this event.');
}
