import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between a client and a server, and can cut every connection. */
export interface Forwarder {
  readonly url: string;
  /** The session that the server named last. */
  readonly session: string | undefined;
  cut(): void;
  close(): Promise<void>;
}

/** Forwards bytes to the address of a server as they come. */
export async function forwardTo(url: string): Promise<Forwarder> {
  const target = new URL(url);
  const open = new Set<Socket>();
  let session: string | undefined;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    far.on('data', (bytes) => {
      session = /^mcp-session-id: (\S+)/im.exec(bytes.toString('latin1'))?.[1] ?? session;
    });
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  const own = new URL(url);
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    get session() {
      return session;
    },
    cut,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
