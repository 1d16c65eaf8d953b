import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Caller } from '../../core/caller.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import { encodeError } from '../../protocol/wire/json-rpc.ts';
import type { Server } from '../create-server.ts';
import { checkFraming, checkRawHeaders, type Head } from './endpoint.ts';
import { LONG_BODY_MS, type Gate } from './gate.ts';
import { HttpLink } from './http-link.ts';
import { NodePort } from './node-port.ts';
import type { Seats } from '../seats.ts';

/** Takes requests off `node:http` and brings answers back. */
export class NodeEndpoint {
  readonly #server: Server;
  readonly #gate: Gate;
  readonly #clock: Clock;

  constructor(server: Server, gate: Gate) {
    this.#server = server;
    this.#gate = gate;
    this.#clock = server.options.clock ?? systemClock;
  }

  /** Takes one request; it is answered sooner or later, whatever happens. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const head = headOf(request);
    try {
      checkFraming(request.httpVersion, head.headers);
      checkRawHeaders(request.rawHeaders);
      if (head.method === 'OPTIONS') {
        response.writeHead(204, this.#gate.preflight(head)).end();
        return;
      }
      const entered = this.#gate.enter(head);
      if (!(entered instanceof Promise)) this.#go(request, response, { head, caller: entered });
      else {
        entered.then(
          (caller) => this.#go(request, response, { head, caller }),
          (error: unknown) => refuseWith(response, this.#gate, { head, error }),
        );
      }
    } catch (error) {
      refuseWith(response, this.#gate, { head, error });
    }
  }

  #go(
    request: IncomingMessage,
    response: ServerResponse,
    { head, caller }: { head: Head; caller: Caller },
  ): void {
    // What was sent behind a refused request is not run: its client was told that the connection ends there.
    if (isClosing(request)) return;
    const refuse = (error: unknown): void => refuseWith(response, this.#gate, { head, error, caller });
    try {
      if (head.method === 'POST') this.#readMessage(request, response, { head, caller, refuse });
      else {
        const link = this.#openLink(head, request, { response, caller });
        // A connection is kept for many requests, so not the end of the connection but that of the answer counts.
        response.once('close', () => {
          closeLink(request.socket, link);
          link.hangUp();
        });
        this.#server.sessionRequests.answer(head, link).catch(refuse);
      }
    } catch (error) {
      refuse(error);
    }
  }

  #readMessage(
    request: IncomingMessage,
    response: ServerResponse,
    { head, caller, refuse }: { head: Head; caller: Caller; refuse: (error: unknown) => void },
  ): void {
    readBody(request, response, {
      maxBytes: this.#server.options.maxBodyBytes,
      refuse,
      gate: this.#gate,
      head,
      caller,
      inPieces: this.#server.inPieces,
      clock: this.#clock,
      use: (bytes, again) => {
        const link = this.#openLink(head, request, { response, caller: again ?? caller });
        // Neither answering nor finishing throws.
        return andThen(this.#server.exchange.answer(bytes, link), (answer) => {
          closeLink(request.socket, link);
          link.finish(answer);
        });
      },
    });
  }

  /** A link that hears when its connection is gone. One listener per connection, not per request: a listener costs more than the rest. */
  #openLink(
    head: Head,
    request: IncomingMessage,
    { response, caller }: { response: ServerResponse; caller: Caller },
  ): HttpLink {
    const { accidents } = this.#gate;
    const link = new HttpLink(head, new NodePort(response, accidents), caller);
    const socket: LinkedSocket = request.socket;
    let links = socket[openLinks];
    if (!links) {
      links = socket[openLinks] = new Set();
      socket.once('close', () => {
        for (const open of links!) accidents.contain(() => open.hangUp());
      });
    }
    links.add(link);
    // Gone while its caller was looked up: nothing else will say so.
    if (socket.destroyed) link.hangUp();
    return link;
  }
}

/** The head of a `node:http` request. */
export function headOf(request: IncomingMessage): Head {
  const { method, url, headers, socket } = request;
  return { method: method!, target: url!, headers, connection: socket };
}

interface BodyOptions {
  readonly maxBytes: number;
  /** Answers the body; it also gets who sends it now, where it took so long that this was asked again. */
  readonly use: (bytes: Buffer, again: Caller | undefined) => Awaitable<void>;
  readonly refuse: (error: unknown) => void;
  /** Where the sender is let in once more, after a body that took its time. */
  readonly gate: Gate;
  readonly head: Head;
  readonly caller: Caller;
  readonly inPieces: Seats;
  readonly clock: Clock;
}

/** Reads a body within its limit; most come in one piece. */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBytes, use, refuse, gate, head, caller, inPieces, clock }: BodyOptions,
): void {
  const startedAt = clock.ticks();
  const tooLarge = (): ToolcribError =>
    new ToolcribError('too_large', `A message may have at most ${maxBytes} bytes.`);
  const length = Number(request.headers['content-length'] ?? maxBytes);
  if (length > maxBytes) {
    refuse(tooLarge());
    return;
  }
  if (request.headers.expect !== undefined) response.writeContinue();
  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let size = 0;
  let leave = (): void => {};
  const leaveEarly = (): void => leave();
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    try {
      if (size > maxBytes) throw tooLarge();
      if (first) (chunks ??= [first]).push(chunk);
      else {
        first = chunk;
        if (size !== length) {
          leave = inPieces.take(caller, length);
          response.once('close', leaveEarly);
        }
      }
    } catch (error) {
      request.removeAllListeners('data').removeAllListeners('end');
      refuse(error);
    }
  });
  request.on('end', () => {
    // Its bytes may wait for their turn after the client has left, so they count until they are answered.
    response.off('close', leaveEarly);
    const answered = orElse<void>(() => {
      const bytes = chunks ? Buffer.concat(chunks) : (first ?? Buffer.alloc(0));
      // The request may be open for long after its body was read.
      chunks = first = undefined;
      if (clock.ticks() - startedAt < LONG_BODY_MS) return use(bytes, undefined);
      return andThen(gate.enter(head), (again) => use(bytes, again));
    }, refuse);
    void andThen(answered, leave);
  });
}

interface Refused {
  readonly head: Head;
  readonly error: unknown;
  readonly caller?: Caller;
  /** The status of an accident where the answer is not JSON-RPC, which tells of it with 200. */
  readonly failure?: number;
}

/** Sends a refusal; the rest of a refused body is not read, so the connection ends with the answer. Never throws. */
export function refuseWith(
  response: ServerResponse,
  gate: Gate,
  { head, error, caller, failure }: Refused,
): void {
  const port = new NodePort(response, gate.accidents);
  closing.add(response.req.socket);
  try {
    const { status, body, headers } = gate.refuse(head, error, caller);
    port.send(status === 200 ? (failure ?? 200) : status, { ...headers, connection: 'close' }, body);
  } catch (cause) {
    port.replace(encodeError(undefined, gate.accidents.report(cause)));
  }
}

/** Whether an earlier request on the same connection was refused. */
export function isClosing({ socket }: IncomingMessage): boolean {
  return closing.has(socket);
}

const closing = new WeakSet<Socket>();
const openLinks = Symbol('openLinks');
type LinkedSocket = Socket & { [openLinks]?: Set<HttpLink> };

function closeLink(socket: LinkedSocket, link: HttpLink): void {
  socket[openLinks]?.delete(link);
}
