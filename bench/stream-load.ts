import { connect, type Socket } from 'node:net';
import { modernMeta } from './requests.ts';

/** Many open subscriptions to one server. */
export interface OpenStreams {
  /** Resolves when every stream has heard of a change. */
  changed(): Promise<void>;
  close(): void;
}

const CALLERS = 100;
const AT_ONCE = 100;

/** Opens subscriptions, each on its own connection, and waits until every one is acknowledged. */
export async function openStreams(url: string, count: number): Promise<OpenStreams> {
  const streams: Stream[] = [];
  while (streams.length < count) {
    const opening = Array.from({ length: Math.min(AT_ONCE, count - streams.length) }, (_, index) =>
      openStream(new URL(url), streams.length + index),
    );
    streams.push(...(await Promise.all(opening)));
  }
  return {
    changed: async () => void (await Promise.all(streams.map((stream) => stream.changed))),
    close: () => {
      for (const { socket } of streams) socket.destroy();
    },
  };
}

interface Stream {
  readonly socket: Socket;
  readonly changed: Promise<void>;
}

function openStream({ hostname, port, pathname }: URL, index: number): Promise<Stream> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: index,
    method: 'subscriptions/listen',
    params: { notifications: { toolsListChanged: true }, _meta: modernMeta },
  });
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    'mcp-protocol-version: 2026-07-28',
    'mcp-method: subscriptions/listen',
    `x-caller: caller-${index % CALLERS}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`));
    let heard: () => void = () => {};
    const changed = new Promise<void>((done) => {
      heard = done;
    });
    socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      if (text.includes('acknowledged')) resolve({ socket, changed });
      if (text.includes('list_changed')) heard();
    });
    socket.on('error', reject);
  });
}
