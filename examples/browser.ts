import { readFileSync } from 'node:fs';
import { createServer as createPageServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { listen } from 'toolcrib/node';

// A page of one origin that calls a server of another: the page is browser.html.
const files: Readonly<Record<string, readonly [type: string, path: string]>> = {
  '/': ['text/html', fileURLToPath(new URL('browser.html', import.meta.url))],
  '/event-stream.js': ['text/javascript', fileURLToPath(import.meta.resolve('toolcrib/event-stream'))],
};
const pages = createPageServer(({ url = '/' }, response) => {
  const file = files[new URL(url, 'http://page').pathname];
  if (!file) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': `${file[0]}; charset=utf-8` }).end(readFileSync(file[1]));
});
await new Promise<void>((done) => pages.listen(Number(process.env['PAGE_PORT'] ?? 0), '127.0.0.1', done));
const host = process.env['PAGE_HOST'] ?? '127.0.0.1';
const origin = `http://${host}:${(pages.address() as AddressInfo).port}`;

const countWords = defineTool(
  {
    name: 'count_words',
    description: 'Counts the words of a text. Returns their number. Use it for any text.',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
  ({ text }) => ({ words: text.split(/\s+/).filter(Boolean).length }),
);
const server = createServer({
  source: new ToolRegistry().registerTool(countWords),
  // Calls are answered with {"status":"queued"}, and results come on the stream of the session.
  delivery: 'queued',
  // Pages of this machine may call anyway; all others only if they are named.
  allowedOrigins: [origin],
});
const { url } = await listen(server, { port: Number(process.env['PORT'] ?? 0) });
console.log(`${origin}/?server=${encodeURIComponent(url)}`);
