import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createSignInOutbound } from '../../src/client/sign-in/outbound.ts';
import { defineTool } from '../../src/index.ts';
import { environmentProxies } from '../../src/node.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { makeCertificate } from '../security/outbound-world.ts';
import { makeUp, open, said, serve } from './peers.ts';
import { startProxy } from './proxy.ts';

const echo = defineTool({ name: 'echo', description: 'Answers.' }, () => 'here');

// A name that only the proxy knows.
function elsewhere(url: string): string {
  const { port, pathname } = new URL(url);
  return `http://tools.example.com:${port}${pathname}`;
}

test("calls go through the proxy, which gets its own credential and not the server's", async () => {
  const proxy = await startProxy();
  const made = await makeUp(({ body, reply }) =>
    body['method'] === 'tools/call' ? reply(said('hi')) : false,
  );
  const client = await open(elsewhere(made.url), {
    headers: { authorization: 'Bearer for-the-server', cookie: 'a=b' },
    proxies: { http: proxy.url.replace('http://', 'http://ada:p%40ss@') },
  });
  expect(await client.callTool('echo').text()).toBe('hi');
  expect(proxy.asked.length).toBeGreaterThan(0);
  for (const { authority, headers } of proxy.asked) {
    expect(authority).toBe(new URL(elsewhere(made.url)).host);
    expect(headers['proxy-authorization']).toBe(`Basic ${Buffer.from('ada:p@ss').toString('base64')}`);
    expect([headers.authorization, headers.cookie]).toEqual([undefined, undefined]);
  }
  for (const { request } of made.got) {
    expect(request.headers.authorization).toBe('Bearer for-the-server');
    expect(request.headers['proxy-authorization']).toBeUndefined();
  }
});

test('no proxy is used unless it is configured, nor for this machine, nor for addresses on the exception list', async () => {
  const proxy = await startProxy();
  const url = await serve([echo]);
  const earlier = process.env['HTTP_PROXY'];
  process.env['HTTP_PROXY'] = proxy.url;
  onTestFinished(() => {
    if (earlier === undefined) delete process.env['HTTP_PROXY'];
    else process.env['HTTP_PROXY'] = earlier;
  });
  await expect(open(elsewhere(url))).rejects.toMatchObject({ code: 'upstream_unavailable' });
  await open(url, { proxies: environmentProxies(process.env) });
  const direct = { http: proxy.url, bypass: ['example.com'] };
  await expect(open(elsewhere(url), { proxies: direct })).rejects.toMatchObject({
    code: 'upstream_unavailable',
  });
  expect(proxy.asked).toEqual([]);
});

test.each([
  [403, 'The proxy does not let this host through (status 403).'],
  [407, 'The proxy wants to know who is calling: put a user and a password into its address.'],
])('a proxy that answers with %i is named in the error', async (status, message) => {
  const proxy = await startProxy(status);
  const opening = open('http://tools.example.com/mcp', { proxies: { http: proxy.url } });
  await expect(opening).rejects.toMatchObject({ code: 'upstream_unavailable', message });
});

test('a proxy that does not answer is given up', async () => {
  const proxy = await startProxy(0);
  const opening = open('http://tools.example.com/mcp', {
    proxies: { http: proxy.url },
    timeouts: { connectMs: 100 },
  });
  await expect(opening).rejects.toMatchObject({
    code: expect.stringMatching(/timed_out|upstream_unavailable/),
  });
});

test('a TLS server is reached through the proxy with the given CA and client certificate', async () => {
  const { server, names } = await startEncrypted('DNS:tools.example.com');
  const proxy = await startProxy();
  const url = `https://tools.example.com:${server.port}/mcp`;
  const { cert, key } = server;
  const proxies = { https: proxy.url };
  const client = await open(url, { proxies, ca: cert, certificate: { cert, key } });
  expect(await client.callTool('echo').text()).toBe('here');
  expect(new Set(names)).toEqual(new Set(['outbound test']));
  await expect(open(url, { proxies, certificate: { cert, key } })).rejects.toMatchObject({
    message: expect.stringContaining('signed by itself'),
  });
  await expect(open(url, { proxies, ca: cert })).rejects.toMatchObject({ code: 'upstream_unavailable' });
});

test('a TLS server is reached directly with the given CA and client certificate', async () => {
  const { server } = await startEncrypted('IP:127.0.0.1');
  const url = `https://127.0.0.1:${server.port}/mcp`;
  const { cert, key } = server;
  const client = await open(url, { ca: cert, certificate: { cert, key } });
  expect(await client.callTool('echo').text()).toBe('here');
  await expect(open(url, { certificate: { cert, key } })).rejects.toMatchObject({
    message: expect.stringContaining('signed by itself'),
  });
  await expect(open(url, { ca: cert })).rejects.toMatchObject({ code: 'upstream_unavailable' });
});

test('toolcrib takes proxies from the environment and certificates from files', async () => {
  const { server } = await startEncrypted('DNS:tools.example.com');
  const proxy = await startProxy();
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-proxy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(cert, server.cert);
  writeFileSync(key, server.key);
  const url = `https://tools.example.com:${server.port}/mcp`;
  const files = ['--ca', cert, '--cert', cert, '--cert-key', key];
  const env = { https_proxy: proxy.url };
  const called = await runCommandLine(['call', url, 'echo', ...files], env);
  expect([called.code, called.output]).toEqual([0, 'here\n']);
  const examined = await runCommandLine(['doctor', url, ...files], env);
  expect(examined.output).toMatch(
    /^skipped +name +A proxy of the environment looks tools\.example\.com up\.\nok +TLS/,
  );
  const direct = await runCommandLine(['call', url, 'echo', ...files], { ...env, NO_PROXY: '.example.com' });
  expect(direct.code).toBe(6);
});

test('a sign-in reaches the authorization server through the proxy, too', async () => {
  const { server } = await startEncrypted('DNS:login.example.com');
  const proxy = await startProxy();
  const outbound = createSignInOutbound({
    server: new URL('https://tools.example.com/mcp'),
    given: [],
    ca: server.cert,
    proxies: { https: proxy.url },
  });
  // Without a client certificate this one ends the connection, which is far enough to see the way.
  await outbound.fetch(`https://login.example.com:${server.port}/`).catch(() => {});
  expect(proxy.asked.map(({ authority }) => authority)).toEqual([`login.example.com:${server.port}`]);
  await expect(outbound.fetch(`https://10.0.0.1:${server.port}/`)).rejects.toThrow(/reached by name/);
});

interface Encrypted {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

// It wants a certificate of its callers, and remembers whose it was.
async function startEncrypted(
  names: string,
): Promise<{ readonly server: Encrypted; readonly names: string[] }> {
  const { key, cert } = makeCertificate(names);
  const seen: string[] = [];
  const made = await makeUp(
    ({ request, body, reply }) => {
      const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject;
      seen.push([CN ?? ''].flat()[0]!);
      return body['method'] === 'tools/call' ? reply(said('here')) : false;
    },
    { key, cert, ca: cert, requestCert: true },
  );
  return { server: { port: Number(new URL(made.url).port), cert, key }, names: seen };
}
