import { createServer, type IncomingHttpHeaders } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A real proxy, for which every name leads to this machine. */
export interface Proxy {
  readonly url: string;
  /** What it was asked to open, with the headers that came along. */
  readonly asked: { readonly authority: string; readonly headers: IncomingHttpHeaders }[];
}

/** Starts a proxy until the test ends; `answer` is the status it gives, or 0 for silence. */
export async function startProxy(answer = 200): Promise<Proxy> {
  const asked: Proxy['asked'] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer().on('connection', keep);
  server.on('connect', ({ url = '', headers }, near: Socket) => {
    asked.push({ authority: url, headers });
    if (answer === 0) return;
    if (answer !== 200) {
      near.end(`HTTP/1.1 ${answer} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const far = connect(Number(url.split(':').at(-1)), '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    keep(far);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
