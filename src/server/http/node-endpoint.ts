import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { GatheredBytes } from '../../base/gathered-bytes.ts';
import { andThen, orElse, type Awaitable } from '../../base/awaitable.ts';
import { endEach } from '../../base/cancellation.ts';
import { SlotList } from '../../base/slot-list.ts';
import { encodeError } from '../../protocol/wire/json-rpc.ts';
import type { Server } from '../create-server.ts';
import { checkFraming, checkRawHeaders, type Head } from './endpoint.ts';
import type { Gate } from './gate.ts';
import { HttpLink } from './http-link.ts';
import { NodePort } from './node-port.ts';

/** One request of `node:http` whose caller was accepted. */
export interface AcceptedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: Head;
  readonly caller: Caller;
  readonly gate: Gate;
}

/** Takes requests off `node:http` and brings answers back: head, caller, body, answer, each from the one before. */
export class NodeEndpoint {
  readonly #server: Server;
  readonly #gate: Gate;

  constructor(server: Server, gate: Gate) {
    this.#server = server;
    this.#gate = gate;
  }

  /** Takes one request; it is answered sooner or later, whatever happens. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const gate = this.#gate;
    const head = headOf(request);
    try {
      checkHead(request);
      if (head.method === 'OPTIONS') {
        response.writeHead(204, gate.preflight(head)).end();
        return;
      }
      const entered = gate.enter(head);
      if (!(entered instanceof Promise)) this.#receive({ request, response, head, caller: entered, gate });
      else {
        entered.then(
          (caller) => this.#receive({ request, response, head, caller, gate }),
          (error: unknown) => refuseWith(response, gate, { head, error }),
        );
      }
    } catch (error) {
      refuseWith(response, gate, { head, error });
    }
  }

  #receive(accepted: AcceptedRequest): void {
    // Requests sent after a refused one are not run: the answer to that one announced the end of the connection.
    if (isClosing(accepted.request)) return;
    try {
      if (accepted.head.method === 'POST') {
        readBody(accepted, this.#server, (bytes, caller) => this.#answer(bytes, accepted, caller));
      } else this.#serveSession(accepted);
    } catch (error) {
      refuseAccepted(accepted, error);
    }
  }

  // Neither answering nor finishing throws.
  #answer(bytes: Buffer, accepted: AcceptedRequest, caller: Caller): Awaitable<void> {
    const link = this.#openLink(accepted, caller);
    return andThen(this.#server.exchange.answer(bytes, link), (answer) => {
      closeLink(accepted.request.socket, link);
      link.finish(answer);
    });
  }

  #serveSession(accepted: AcceptedRequest): void {
    const { request, response, head, caller } = accepted;
    const link = this.#openLink(accepted, caller);
    // The connection may go on with other requests, so the end of the answer counts, not that of the connection.
    response.once('close', () => {
      closeLink(request.socket, link);
      this.#gate.accidents.contain(() => link.hangUp());
    });
    this.#server.sessionRequests
      .answer(head, link)
      .catch((error: unknown) => refuseAccepted(accepted, error));
  }

  // One listener per connection tells its links that it closed: one for each request would cost too much.
  #openLink({ request, response, head }: AcceptedRequest, caller: Caller): HttpLink {
    const { accidents } = this.#gate;
    const link = new HttpLink(head, new NodePort(response, accidents, this.#server.unread), caller);
    const socket: LinkedSocket = request.socket;
    let links = socket[openLinks];
    if (!links) {
      links = socket[openLinks] = new SlotList();
      socket.once('close', () => {
        for (const open of links!.all()) accidents.contain(() => open.hangUp());
      });
    }
    link.place = links.add(link);
    // The connection may have closed during the sign-in; its `close` event does not come again.
    if (socket.destroyed) link.hangUp();
    return link;
  }
}

/** The head of a `node:http` request. */
export function headOf(request: IncomingMessage): Head {
  const { method, url, headers, socket } = request;
  return { method: method!, target: url!, headers, connection: socket };
}

/** Refuses a head that a proxy and this server could read differently. */
export function checkHead({ httpVersion, headers, rawHeaders }: IncomingMessage): void {
  checkFraming(httpVersion, headers);
  checkRawHeaders(rawHeaders);
}

/** Reads a body within its limits and calls `use` with it and its caller; most bodies come in one piece. */
export function readBody(
  accepted: AcceptedRequest,
  { options: { maxBodyBytes: maxBytes }, inPieces }: Server,
  use: (bytes: Buffer, caller: Caller) => Awaitable<void>,
): void {
  const { request, response, gate, head, caller } = accepted;
  const enteredAt = gate.now();
  const length = Number(request.headers['content-length'] ?? maxBytes);
  if (length > maxBytes) {
    refuseAccepted(accepted, tooLarge(maxBytes));
    return;
  }
  if (request.headers.expect !== undefined) response.writeContinue();
  let pieces: GatheredBytes | undefined;
  let first: Buffer | undefined;
  let size = 0;
  let leave: (() => void) | undefined;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    try {
      if (size > maxBytes) throw tooLarge(maxBytes);
      if (pieces) pieces.add(chunk);
      else if (first) (pieces = gathered(first)).add(chunk);
      else {
        first = chunk;
        if (size !== length) response.once('close', (leave = inPieces.take(caller, length)));
      }
    } catch (error) {
      request.removeAllListeners('data').removeAllListeners('end');
      refuseAccepted(accepted, error);
    }
  });
  request.on('end', () => {
    const begun = leave;
    const answered = orElse<void>(
      () => {
        if (begun) {
          begun();
          // The whole body is here: from now on its real size counts, not the announced one.
          leave = inPieces.take(caller, size);
        }
        const bytes = pieces?.take() ?? first ?? Buffer.alloc(0);
        // The request may be open for long after its body was read.
        pieces = first = undefined;
        const checked = gate.recheck(head, caller, enteredAt);
        return checked instanceof Promise ? checked.then((known) => use(bytes, known)) : use(bytes, checked);
      },
      (error) => refuseAccepted(accepted, error),
    );
    if (!begun || !leave) return;
    // The bytes may wait for their turn after the client has left, so they count until they are answered.
    response.off('close', begun);
    void andThen(answered, leave);
  });
}

function gathered(first: Buffer): GatheredBytes {
  const pieces = new GatheredBytes();
  pieces.add(first);
  return pieces;
}

function tooLarge(maxBytes: number): ToolcribError {
  return new ToolcribError('too_large', `A message may have at most ${maxBytes} bytes.`);
}

/** Refuses a request of an accepted caller. */
export function refuseAccepted({ response, gate, head, caller }: AcceptedRequest, error: unknown): void {
  refuseWith(response, gate, { head, error, caller });
}

interface Refused {
  readonly head: Head;
  readonly error: unknown;
  readonly caller?: Caller;
  /** The status of an unexpected failure where the response is not JSON-RPC, which reports it with 200. */
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

/** Stops the requests under way on a connection; each of them is still answered. */
export function stopRequests(socket: LinkedSocket, reason: Error): void {
  const links = socket[openLinks]?.all() ?? [];
  endEach(links, ({ cancellation }) => cancellation.abort(reason));
}

const closing = new WeakSet<Socket>();
const openLinks = Symbol('openLinks');
type LinkedSocket = Socket & { [openLinks]?: SlotList<HttpLink> };

function closeLink(socket: LinkedSocket, link: HttpLink): void {
  socket[openLinks]?.remove(link.place, link);
}
