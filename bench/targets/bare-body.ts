import type { IncomingMessage, ServerResponse } from 'node:http';

/** Reads a request to its end and hands on its body, parsed. */
export function readJson(request: IncomingMessage, done: (body: unknown) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [first] = chunks;
    const whole = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks);
    done(JSON.parse(whole.toString()));
  });
}

/** Writes a JSON answer whole, with the two headers that say what it is. */
export function writeJson(response: ServerResponse, body: string | Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
