import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that an endpoint got. */
export interface SeenRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

/** A model endpoint on this machine that answers as a test wants. */
export interface ModelEndpoint {
  readonly url: string;
  readonly seen: SeenRequest[];
  /** Requests whose connection was closed before they were answered. */
  readonly gone: { readonly count: number };
  close(): Promise<void>;
}

/** Starts an endpoint; each request goes to `answer` with its number, from 0. */
export async function startEndpoint(
  answer: (response: ServerResponse, number: number) => void,
): Promise<ModelEndpoint> {
  const seen: SeenRequest[] = [];
  const gone = { count: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      seen.push({ url: request.url!, headers: request.headers, body });
      response.on('close', () => !response.writableFinished && gone.count++);
      answer(response, seen.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    gone,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with a stream of events, in one piece. */
export function sendStream(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
}

/** Events of an API as the text of a stream. */
export function streamOf(events: readonly object[], end = ''): string {
  return (
    events
      .map((event) => {
        const name = 'type' in event ? `event: ${String(event.type)}\n` : '';
        return `${name}data: ${JSON.stringify(event)}\n\n`;
      })
      .join('') + end
  );
}
