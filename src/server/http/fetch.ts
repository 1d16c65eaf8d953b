import type { Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { andThen } from '../../base/awaitable.ts';
import { GatheredBytes } from '../../base/gathered-bytes.ts';
import type { Accidents } from '../accidents.ts';
import { corsHeaders, pathOf, type Head } from './endpoint.ts';
import type { Exchange } from '../exchange.ts';
import type { Gate } from './gate.ts';
import { HttpLink, type Port, type Sender } from './http-link.ts';
import { textOf, type Body } from '../answer.ts';
import type { ResourceMetadata } from './protected-resource.ts';
import { ReadingPace } from './reading-pace.ts';
import type { CallerLimit } from '../caller-limit.ts';
import type { SessionRequests } from './session-requests.ts';

/** What the web-standard face works with. */
export interface FetchFace {
  readonly exchange: Exchange;
  readonly sessionRequests: SessionRequests;
  readonly gate: Gate;
  readonly maxBodyBytes: number;
  readonly inPieces: CallerLimit;
  /** What clients read to find out where to get tokens. */
  readonly metadata: ResourceMetadata | undefined;
}

/**
 * Answers a web-standard request: the thin second face of the endpoint, for Hono, Express, Fastify, Workers, Bun and
 * Deno.
 */
export async function answerFetch(request: Request, face: FetchFace): Promise<Response> {
  const head = toHead(request);
  let caller: Caller | undefined;
  let body: ReadBody | undefined;
  try {
    if (head.method === 'OPTIONS')
      return new Response(null, { status: 204, headers: face.gate.preflight(head) });
    if (face.metadata?.paths.includes(pathOf(head.target))) return await answerMetadata(head, face);
    caller = await face.gate.enter(head);
    const enteredAt = face.gate.now();
    body = head.method === 'POST' ? await readBody(request, face, caller) : undefined;
    caller = await face.gate.recheck(head, caller, enteredAt);
    const known = caller;
    const read = body;
    return await new Promise<Response>((resolve, reject) => {
      const port = new FetchPort(resolve, face.gate.accidents);
      const link = new HttpLink(head, port, known);
      port.onCancel = () => port.accidents.contain(() => link.hangUp());
      const { signal } = request;
      // Given up while its caller was looked up or its body was read: nothing else will say so.
      if (signal.aborted) port.cancel();
      else signal.addEventListener('abort', () => port.abort(signal.reason), { once: true });
      if (read)
        void andThen(face.exchange.answer(read.bytes, link), (answer) => {
          read.leave();
          link.finish(answer);
        });
      else face.sessionRequests.answer(head, link).catch(reject);
    });
  } catch (error) {
    body?.leave();
    const { status, body: text, headers } = face.gate.refuse(head, error, caller);
    return new Response(text === undefined ? null : textOf(text), {
      status,
      headers: { ...headers, 'content-type': 'application/json' },
    });
  }
}

async function answerMetadata(head: Head, { gate, metadata }: FetchFace): Promise<Response> {
  await gate.enterRoute(head, undefined);
  return new Response(metadata!.body, {
    headers: { ...corsHeaders(head), 'content-type': 'application/json' },
  });
}

/** A web-standard response. */
class FetchPort implements Port {
  readonly accidents: Accidents;
  sender: Sender | undefined = undefined;
  readonly #resolve: (response: Response) => void;
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #pace = new ReadingPace(() => -this.#stream!.desiredSize!);
  isOpen = true;
  onCancel: () => void = () => {};

  constructor(resolve: (response: Response) => void, accidents: Accidents) {
    this.#resolve = resolve;
    this.accidents = accidents;
  }

  startStream(headers: Readonly<Record<string, string>>): void {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#stream = controller;
        },
        cancel: () => this.cancel(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
    this.#resolve(new Response(stream, { status: 200, headers }));
  }

  write(text: string): void {
    if (text === '') return;
    if (this.#pace.keepsUp) this.#stream!.enqueue(new TextEncoder().encode(text));
    else {
      this.#stream!.error(new ToolcribError('cancelled', 'The stream was cut because nobody read it.'));
      this.cancel();
    }
  }

  end(): void {
    this.isOpen = false;
    this.#stream?.close();
  }

  send(status: number, headers: Record<string, string>, body: Body | undefined): void {
    this.isOpen = false;
    if (body !== undefined) headers['content-type'] = 'application/json';
    this.#resolve(new Response(body === undefined ? null : textOf(body), { status, headers }));
  }

  replace(text: string): void {
    const headers = { 'content-type': 'application/json' };
    this.isOpen = false;
    // Of two responses the first counts, so this does nothing where a stream has begun.
    this.#resolve(new Response(text, { headers }));
    this.#stream?.error(new ToolcribError('internal', 'The stream broke off.'));
  }

  /** The reader has left. `fetch` must still return a response, unless it has. */
  cancel(): void {
    if (!this.isOpen) return;
    this.isOpen = this.#stream === undefined;
    this.onCancel();
  }

  /** The request was given up, and with it the response, even if that has begun. */
  abort(reason: unknown): void {
    this.cancel();
    this.#stream?.error(reason);
  }
}

function toHead(request: Request): Head {
  const url = new URL(request.url);
  return {
    method: request.method,
    target: url.pathname + url.search,
    headers: Object.assign(
      Object.create(null) as Record<string, string>,
      { host: url.host },
      Object.fromEntries(request.headers),
    ),
  };
}

interface ReadBody {
  readonly bytes: Uint8Array;
  /** Its bytes may wait for their turn, so they count until they are answered. */
  readonly leave: () => void;
}

async function readBody(
  request: Request,
  { maxBodyBytes: maxBytes, inPieces }: FetchFace,
  caller: Caller,
): Promise<ReadBody> {
  const tooLarge = new ToolcribError('too_large', `A message may have at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge;
  const pieces = new GatheredBytes();
  let taken: (() => void) | undefined;
  const leave = (): void => taken?.();
  try {
    for await (const chunk of request.body ?? []) {
      if (pieces.length > 0) taken ??= inPieces.take(caller, maxBytes);
      pieces.add(Buffer.from(chunk as Uint8Array));
      if (pieces.length > maxBytes) throw tooLarge;
    }
    if (taken) {
      taken();
      taken = inPieces.take(caller, pieces.length);
    }
    return { bytes: pieces.take(), leave };
  } catch (error) {
    leave();
    throw error;
  }
}
