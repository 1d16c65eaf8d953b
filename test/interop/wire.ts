import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A wire between client and server that can be cut. */
export interface Wire {
  /** What the client takes for the server's address. */
  readonly host: string;
  /** Leads to the server at this URL; returns where a client finds it. */
  leadTo(url: string): string;
  /** Cuts every connection there is; new ones work. */
  cut(): void;
}

/** Lays a wire that lasts as long as the test. */
export async function layWire(): Promise<Wire> {
  let target: URL | undefined;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket =>
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  const server = createServer((near) => {
    const far = connect(Number(target!.port), target!.hostname);
    for (const socket of [near, far]) sockets.add(keep(socket));
    near.pipe(far).pipe(near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    cut,
    leadTo(url) {
      target = new URL(url);
      return new URL(target.pathname, `http://${host}`).href;
    },
  };
}
