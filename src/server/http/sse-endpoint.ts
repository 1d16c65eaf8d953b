import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { systemClock } from '../../base/clock.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { andThen } from '../../base/awaitable.ts';
import { encodeEvent, KEEP_ALIVE } from '../../protocol/wire/event-stream.ts';
import { encodeError } from '../../protocol/wire/json-rpc.ts';
import type { Server } from '../create-server.ts';
import { corsHeaders, pathOf, requireJsonPost, STREAM_HEADERS, type Head } from './endpoint.ts';
import { Gate } from './gate.ts';
import { createLink } from '../link.ts';
import {
  checkHead,
  headOf,
  isClosing,
  readBody,
  refuseAccepted,
  refuseWith,
  type AcceptedRequest,
} from './node-endpoint.ts';
import { NodePort } from './node-port.ts';
import { CallerLimit, postedLimits } from '../caller-limit.ts';
import { KeepAlive } from '../sessions/keep-alive.ts';
import { Session } from '../sessions/session.ts';
import { keepsNothing } from '../sessions/stream.ts';

const STREAM = '/sse';
const MESSAGES = '/messages';

/** The paths of the first HTTP transport. */
export const ssePaths: ReadonlySet<string> = new Set([STREAM, MESSAGES]);

/** HTTP with server-sent events as in 2024-11-05: one stream carries every answer, messages are posted beside it. */
export class SseEndpoint {
  readonly #server: Server;
  readonly #gates: Readonly<Record<string, Gate>>;
  readonly #sessions = new Map<string, Session>();
  readonly #limit = new CallerLimit('streams');
  readonly #posted = new CallerLimit('messages beside streams', postedLimits);
  readonly #keepAlive: KeepAlive;

  constructor(server: Server, allowedHosts: readonly string[]) {
    this.#server = server;
    this.#keepAlive = new KeepAlive(server.options.clock ?? systemClock, server.options.accidents);
    this.#gates = Object.fromEntries(
      [...ssePaths].map((path) => [
        path,
        new Gate(server.options, { path, allowedHosts, allow: path === STREAM ? 'GET' : 'POST' }),
      ]),
    );
  }

  /** Takes a request to one of its paths. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const head = headOf(request);
    const path = pathOf(head.target);
    const gate = this.#gates[path]!;
    void this.#go(request, response, { head, gate, path }).catch((error: unknown) =>
      refuseWith(response, gate, { head, error }),
    );
  }

  async #go(
    request: IncomingMessage,
    response: ServerResponse,
    { head, gate, path }: { head: Head; gate: Gate; path: string },
  ): Promise<void> {
    checkHead(request);
    if (head.method === 'OPTIONS') {
      response.writeHead(204, gate.preflight(head)).end();
      return;
    }
    const caller = await gate.enter(head);
    if (isClosing(request)) return;
    const accepted = { request, response, head, caller, gate };
    try {
      if (path === STREAM) this.#open(response, head, caller);
      else this.#post(accepted, this.#find(head, caller));
    } catch (error) {
      refuseAccepted(accepted, error);
    }
  }

  /** Ends the streams of callers whose access has ended. */
  dismiss(isGone: (caller: Caller) => boolean): void {
    for (const session of this.#sessions.values()) if (isGone(session.caller)) session.end();
  }

  /** Ends every stream as soon as nothing is under way on it. */
  close(): void {
    for (const session of this.#sessions.values()) session.endStream();
  }

  #open(response: ServerResponse, head: Head, caller: Caller): void {
    if (head.method !== 'GET') throw new ToolcribError('method_not_allowed', 'Open the stream with GET.');
    const tooMany = this.#server.rates.refuseOpening(caller);
    if (tooMany) throw tooMany;
    const leave = this.#limit.take(caller);
    const id = randomUUID();
    const session = new Session(id, caller, keepsNothing);
    const { accidents } = this.#server.options;
    const port = new NodePort(response, accidents);
    const write = (text: string): void => {
      try {
        if (port.isOpen) port.write(text);
      } catch (error) {
        port.replace(encodeError(undefined, accidents.report(error)));
      }
    };
    this.#sessions.set(id, session);
    const still = this.#keepAlive.add(() => write(KEEP_ALIVE));
    response.on('close', () => {
      still();
      leave();
      this.#sessions.delete(id);
      accidents.contain(() => session.end());
    });
    port.startStream({ ...corsHeaders(head), ...STREAM_HEADERS });
    write(`event: endpoint\ndata: ${MESSAGES}?sessionId=${id}\n\n`);
    session.serverStream.attach({
      event: (text) => write(encodeEvent(text)),
      end: () => accidents.contain(() => port.end()),
    });
  }

  #find({ target, method, headers }: Head, caller: Caller): Session {
    requireJsonPost({ method, target, headers });
    const id = new URLSearchParams(target.split('?')[1]).get('sessionId');
    const session = id === null ? undefined : this.#sessions.get(id);
    if (session && !session.isOver && ownerOf(session.caller) === ownerOf(caller)) return session;
    throw new ToolcribError('unknown_session', 'There is no such stream; open one with GET first.');
  }

  #post(accepted: AcceptedRequest, session: Session): void {
    const { exchange, options } = this.#server;
    readBody(accepted, this.#server, (bytes, sender) => {
      const leave = this.#posted.take(sender);
      accepted.response.writeHead(202, corsHeaders(accepted.head)).end();
      const say = (text: string): void => session.serverStream.send(text);
      const link = { ...createLink(sender, say, session), handshakeOnly: true };
      session.expectAnswer();
      // Answering never throws.
      return andThen(exchange.answer(bytes, link), ({ body }) => {
        leave();
        options.accidents.deliver(body, link.idText, say);
        session.noteAnswered();
      });
    });
  }
}
