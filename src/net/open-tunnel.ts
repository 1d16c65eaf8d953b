import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { ToolcribError } from '../base/errors.ts';

/** How a tunnel is opened. */
export interface TunnelOptions {
  readonly proxy: URL;
  /** Until the far side is ready, encryption included. */
  readonly timeoutMs: number;
  /** Certificates of authorities to trust instead of the usual ones. */
  readonly ca?: string | readonly string[] | undefined;
  /** A client certificate for the far side; the proxy does not get it. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
}

const MAX_HEADER_BYTES = 16_384;

/**
 * Opens a connection to a host through a proxy, encrypted for https. The proxy learns the name and the port of the host
 * and its own credential, nothing that is meant for the host.
 */
export async function openTunnel(target: URL, options: TunnelOptions): Promise<Socket> {
  const started = performance.now();
  const socket = await throughProxy(authorityOf(target), options);
  if (target.protocol !== 'https:') return socket;
  return encrypted(socket, target, {
    ...options,
    timeoutMs: Math.max(options.timeoutMs - (performance.now() - started), 1),
  });
}

function throughProxy(authority: string, { proxy, timeoutMs, ca }: TunnelOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const start = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
    const asked = start({
      method: 'CONNECT',
      host: proxy.hostname.replaceAll(/[[\]]/g, ''),
      port: proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : proxy.port,
      path: authority,
      headers: { host: authority, ...credentialOf(proxy) },
      maxHeaderSize: MAX_HEADER_BYTES,
      ...(ca !== undefined && { ca: [ca].flat() }),
      agent: false,
    });
    const limit = setTimeout(() => asked.destroy(unreachable('did not answer in time')), timeoutMs);
    asked.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
      clearTimeout(limit);
      if (statusCode >= 200 && statusCode < 300 && head.length === 0) return resolve(socket);
      socket.on('error', () => {}).destroy();
      return reject(refusal(statusCode));
    });
    // A proxy that answers with a body of its own has opened nothing.
    asked.once('response', (response) => {
      response.destroy();
      asked.destroy(refusal(response.statusCode ?? 0));
    });
    asked.once('error', (error) => {
      clearTimeout(limit);
      reject(error instanceof ToolcribError ? error : unreachable('cannot be reached', error));
    });
    asked.end();
  });
}

function encrypted(
  socket: Socket,
  { hostname }: URL,
  { timeoutMs, ca, certificate }: TunnelOptions,
): Promise<TLSSocket> {
  const host = hostname.replaceAll(/[[\]]/g, '');
  return new Promise((resolve, reject) => {
    const secured = connect({
      socket,
      host,
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: ['http/1.1'],
      ...(ca !== undefined && { ca: [ca].flat() }),
      ...certificate,
    });
    const limit = setTimeout(
      () => secured.destroy(unreachable('opened a tunnel in which the host is silent')),
      timeoutMs,
    );
    const fail = (error: Error): void => {
      clearTimeout(limit);
      socket.destroy();
      reject(error);
    };
    secured.once('error', fail);
    secured.once('secureConnect', () => {
      clearTimeout(limit);
      secured.off('error', fail);
      resolve(secured);
    });
  });
}

function authorityOf({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}

function credentialOf({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

function refusal(status: number): ToolcribError {
  return unreachable(
    status === 407
      ? 'wants to know who is calling: put a user and a password into its address'
      : `does not let this host through (status ${status})`,
  );
}

function unreachable(reason: string, cause?: unknown): ToolcribError {
  return new ToolcribError('upstream_unavailable', `The proxy ${reason}.`, { cause });
}
