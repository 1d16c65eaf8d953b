import { ToolcribError } from '../core/errors.ts';
import { andThen } from '../core/source.ts';
import { encodeEvent } from '../protocol/event-stream.ts';
import { acceptedForms, corsHeaders, STREAM_HEADERS, type Head } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import type { Gate } from './gate.ts';
import { createLink, textOf, type Answer, type Link } from './link.ts';

/** What the web-standard face works with. */
export interface FetchFace {
  readonly exchange: Exchange;
  readonly gate: Gate;
  readonly maxBodyBytes: number;
}

/** Answers a web-standard request: the thin second face of the endpoint, for Hono, Express, Fastify, Workers, Bun and Deno. */
export async function answerFetch(request: Request, face: FetchFace): Promise<Response> {
  const head = toHead(request);
  try {
    if (head.method === 'OPTIONS')
      return new Response(null, { status: 204, headers: face.gate.preflight(head) });
    const caller = await face.gate.enter(head);
    const bytes = await readBody(request, face.maxBodyBytes);
    return await new Promise((resolve) => {
      const reply = new FetchReply(head, resolve);
      const link: Link = { ...createLink(caller, (message) => reply.notify(message)), headers: head.headers };
      const hangUp = (): void => {
        if (link.hangUpCancels)
          link.cancellation.abort(new ToolcribError('cancelled', 'The client hung up.'));
      };
      reply.onCancel = hangUp;
      request.signal.addEventListener('abort', hangUp, { once: true });
      void andThen(face.exchange.answer(bytes, link), (answer) => reply.finish(answer));
    });
  } catch (error) {
    const { status, body, headers } = face.gate.refuse(head, error);
    return new Response(body === undefined ? null : textOf(body), {
      status,
      headers: { ...headers, 'content-type': 'application/json' },
    });
  }
}

/** One answer as a `Response`: JSON, unless something is said first or the client wants only a stream. */
class FetchReply {
  readonly #head: Head;
  readonly #resolve: (response: Response) => void;
  readonly #forms: { readonly json: boolean; readonly stream: boolean };
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #readerIsGone = false;
  onCancel: () => void = () => {};

  constructor(head: Head, resolve: (response: Response) => void) {
    this.#head = head;
    this.#resolve = resolve;
    this.#forms = acceptedForms(head.headers);
  }

  notify(message: string): void {
    if (this.#forms.stream && !this.#readerIsGone) this.#write(message);
  }

  finish({ status, body }: Answer): void {
    if (this.#readerIsGone) return;
    if (this.#stream || (!this.#forms.json && status === 200 && body !== undefined)) {
      if (body !== undefined) this.#write(textOf(body));
      this.#stream?.close();
      return;
    }
    const headers = {
      ...corsHeaders(this.#head),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    this.#resolve(new Response(body === undefined ? null : textOf(body), { status, headers }));
  }

  #write(message: string): void {
    this.#stream ??= this.#open();
    this.#stream.enqueue(new TextEncoder().encode(encodeEvent(message)));
  }

  #open(): ReadableStreamDefaultController<Uint8Array> {
    let opened!: ReadableStreamDefaultController<Uint8Array>;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        opened = controller;
      },
      cancel: () => {
        this.#readerIsGone = true;
        this.onCancel();
      },
    });
    const headers = { ...corsHeaders(this.#head), ...STREAM_HEADERS };
    this.#resolve(new Response(stream, { status: 200, headers }));
    return opened;
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

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = new ToolcribError('too_large', `A message may have at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += (chunk as Uint8Array).byteLength;
    if (size > maxBytes) throw tooLarge;
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks);
}
