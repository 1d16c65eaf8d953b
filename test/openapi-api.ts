import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as the API saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An API on this machine that remembers what it was asked. */
export interface LocalApi {
  readonly url: string;
  readonly seen: Seen[];
  /** How many requests ended without an answer, because the client went away. */
  hangUps: number;
  /** The last request. */
  last(): Seen;
}

/** Opens an API that answers as told; it ends with the test. */
export async function openApi(
  answer: (response: ServerResponse, seen: Seen) => void = sayOk,
): Promise<LocalApi> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    response.on('close', () => {
      if (!response.writableFinished) api.hangUps++;
    });
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = {
        method: request.method!,
        url: request.url!,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      seen.push(one);
      answer(response, one);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api: LocalApi = { url, seen, hangUps: 0, last: () => seen.at(-1)! };
  return api;
}

/** Answers with JSON. */
export function sayJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(value));
}

function sayOk(response: ServerResponse): void {
  sayJson(response, { ok: true });
}
