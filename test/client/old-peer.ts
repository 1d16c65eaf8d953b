import type { ServerResponse } from 'node:http';
import { makeUp, ECHO, said, type Got, type MadeUp } from './peers.ts';

/** One message that a made-up server of 2024-11-05 got. */
export interface Asked extends Got {
  /** Which of its streams the message belongs to, from 1 on. */
  readonly line: number;
  /** Sends an event on the stream of this message. */
  event(text: string): void;
  /** Answers on the stream. */
  answer(result: object): void;
}

/** A made-up server of 2024-11-05, which takes nothing on a stream before the handshake is complete. */
export interface OldPeer extends MadeUp {
  /** The streams that were opened. */
  readonly streams: ServerResponse[];
  /** Takes the end of a handshake that was held back. */
  accept(stream: number, response: ServerResponse): void;
  /** What it was asked on each stream, in order. */
  asked(stream: number): string[];
}

/** What a test may change about such a server; `false` leaves a message to it. */
export interface OldParts {
  /** Takes a request for a stream. */
  readonly onStream?: (got: Got) => boolean;
  readonly onMessage?: (asked: Asked) => boolean | void;
  /** The first event. */
  readonly endpoint?: (stream: number) => string;
  readonly capabilities?: object;
}

/** Starts such a server until the test ends. */
export async function oldPeer(parts: OldParts = {}): Promise<OldPeer> {
  const { onStream, onMessage, capabilities = { tools: {} } } = parts;
  const { endpoint = (stream: number) => `/messages?stream=${stream}` } = parts;
  const streams: ServerResponse[] = [];
  const log: string[][] = [[]];
  const ready = new Set<number>();
  const accept = (stream: number, response: ServerResponse): void => {
    ready.add(stream);
    response.writeHead(202).end();
  };
  const server = await makeUp((got) => {
    const { request, response, body } = got;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://here');
    if (request.method === 'GET') {
      if (onStream?.(got) === true) return;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: ${endpoint(streams.push(response))}\n\n`);
      log.push([]);
      return;
    }
    const stream = Number(searchParams.get('stream'));
    const open = streams[stream - 1];
    if (pathname !== '/messages' || !open) return void response.writeHead(405).end();
    const method = String(body['method']);
    log[stream]!.push(method);
    const event = (text: string): void => void open.write(text);
    const answer = (result: object): void =>
      event(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: body['id'], result })}\n\n`);
    if (onMessage?.({ ...got, line: stream, event, answer }) !== false && onMessage) return;
    const isFirst = method === 'initialize' || method === 'notifications/initialized';
    if (!isFirst && !ready.has(stream)) return void response.writeHead(400).end('shake hands first');
    if (method === 'notifications/initialized') return accept(stream, response);
    response.writeHead(202).end();
    if (method === 'initialize')
      answer({ protocolVersion: '2024-11-05', capabilities, serverInfo: { name: 'old', version: '1' } });
    if (method === 'tools/list') answer({ tools: [{ ...ECHO, description: `Of stream ${stream}.` }] });
    if (method === 'tools/call') answer(said(`echoed on ${stream}`));
    if (/^(?:ping|logging\/setLevel|resources\/subscribe)$/.test(method)) answer({});
  });
  return { ...server, streams, accept, asked: (stream) => log[stream] ?? [] };
}
