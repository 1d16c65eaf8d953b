import { request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, localCaller, ToolRegistry, type Head } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { ada } from './matrix.ts';
import { describeWeb, legacyPost, modernPost, sendTo } from './web.ts';

const whoAmI = defineTool(
  { name: 'who_am_i', description: 'Names the caller.' },
  (_args, { caller }) => caller.id,
);
const knows = (head: Head) => (head.headers['authorization'] === 'Bearer good' ? ada : undefined);
const call = modernPost('tools/call', { name: 'who_am_i' });
const signedIn = (authorization: string) => ({ ...call, headers: { ...call.headers, authorization } });

describeWeb((open, face) => {
  test('a tool knows the caller that signed in', async () => {
    for (const authenticate of [knows, async (head: Head) => knows(head)]) {
      const site = await open({ tools: [whoAmI], authenticate });
      const response = await site.send(signedIn('Bearer good'));
      expect(await response.json()).toMatchObject({ result: { content: [{ text: 'ada' }] } });
    }
  });

  test.each<[string, (head: Head) => ReturnType<typeof knows> | Promise<ReturnType<typeof knows>>]>([
    ['names nobody', knows],
    ['names nobody later', async (head) => knows(head)],
    [
      'throws',
      () => {
        throw new Error('jwt malformed: hunter2');
      },
    ],
    ['fails later', () => Promise.reject(new Error('key store down: hunter2'))],
  ])('a request is refused with a challenge when authenticate %s', async (_what, authenticate) => {
    const site = await open({ tools: [whoAmI], authenticate });
    const response = await site.send(signedIn('Bearer bad'));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
    expect(text).not.toContain('hunter2');
  });

  test('the challenge for a request without credentials names no error', async () => {
    const site = await open({ tools: [whoAmI], authenticate: knows });
    expect((await site.send(call)).headers.get('www-authenticate')).toBe('Bearer');
  });

  test('an exception in authenticate is logged, so that the operator can tell it from a wrong credential', async () => {
    const cause = new Error('key store down');
    const site = await open({ authenticate: () => Promise.reject(cause) });
    await site.send(call);
    expect(site.logged).toMatchObject([{ facts: { cause } }]);
    const other = await open({ authenticate: () => undefined });
    await other.send(call);
    expect(other.logged).toEqual([]);
  });

  test('the body of an unauthenticated request is never read', async () => {
    let read = false;
    const body = new Readable({
      highWaterMark: 0,
      read() {
        read = true;
        this.push(null);
      },
    });
    const site = await open({ authenticate: () => undefined });
    const headers = { ...call.headers, 'content-length': '1000000' };
    // Over a socket the headers alone are sent: the answer comes although the body never does.
    const response = await site.send(
      face === 'fetch' ? { headers, body } : { headers, body: new Readable({ read: () => {} }) },
    );
    expect(response.status).toBe(401);
    expect(read).toBe(false);
  });

  test('an unauthenticated request is refused before any other check', async () => {
    const site = await open({ authenticate: () => undefined });
    const unsupported = legacyPost('tools/list', {}, { 'content-type': 'text/plain' });
    for (const request of [unsupported, { method: 'GET' }, modernPost('no/such')]) {
      expect((await site.send(request)).status).toBe(401);
    }
  });

  test('authenticate gets the method, target and headers', async () => {
    const heads: Head[] = [];
    const site = await open({
      authenticate(head) {
        heads.push(head);
        return ada;
      },
    });
    await site.send({ ...call, path: '/mcp?tenant=acme', headers: { ...call.headers, 'x-api-key': 'k' } });
    expect(heads).toMatchObject([
      { method: 'POST', target: '/mcp?tenant=acme', headers: { 'x-api-key': 'k' } },
    ]);
  });
});

test('server.fetch has no open mode, because a request does not show where it came from', async () => {
  const server = createServer({ source: new ToolRegistry() });
  await expect(async () => server.fetch(new Request('http://localhost/mcp'))).rejects.toMatchObject({
    code: 'invalid_setup',
    message: expect.stringContaining('authenticate'),
  });
});

async function listenOpenly(): Promise<string> {
  const server = createServer({ source: new ToolRegistry().registerTool(whoAmI) });
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close());
  return listening.url;
}

test('without authenticate every caller is the local one', async () => {
  const response = await sendTo(await listenOpenly())(call);
  expect(await response.json()).toMatchObject({ result: { content: [{ text: localCaller.id }] } });
});

test.each(['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'])(
  'without authenticate a forwarded request (%s) is refused',
  async (header) => {
    const send = sendTo(await listenOpenly());
    expect((await send({ ...call, headers: { ...call.headers, [header]: 'for=203.0.113.7' } })).status).toBe(
      403,
    );
  },
);

test('with authenticate a request may come through a proxy', async () => {
  const server = createServer({ source: new ToolRegistry().registerTool(whoAmI), authenticate: () => ada });
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close());
  const headers = { ...call.headers, 'x-forwarded-for': '203.0.113.7' };
  expect((await sendTo(listening.url)({ ...call, headers })).status).toBe(200);
});

test.each(['0.0.0.0', '::', '192.0.2.1', 'tools.example.com'])(
  'listen refuses %s without sign-in and allowed host names',
  async (host) => {
    const source = new ToolRegistry();
    await expect(listen(createServer({ source }), { host, port: 0 })).rejects.toMatchObject({
      code: 'invalid_setup',
      message: expect.stringContaining('authenticate'),
    });
    const server = createServer({ source, authenticate: () => ada });
    await expect(listen(server, { host, port: 0 })).rejects.toMatchObject({
      code: 'invalid_setup',
      message: expect.stringContaining('allowedHosts'),
    });
  },
);

test('beyond loopback only the allowed host names are served', async () => {
  const options = { authenticate: () => ada, allowedHosts: ['tools.example.com'] };
  const server = createServer({ source: new ToolRegistry().registerTool(whoAmI), ...options });
  const listening = await listen(server, { host: '0.0.0.0', port: 0 });
  onTestFinished(() => listening.close());
  const send = sendTo(listening.url.replace('0.0.0.0', '127.0.0.1'));
  const from = (host: string | undefined) => send({ ...call, headers: { ...call.headers, host } });
  expect((await from('tools.example.com')).status).toBe(200);
  expect((await from('TOOLS.example.com')).status).toBe(200);
  expect((await from('evil.example')).status).toBe(403);
  expect((await from(undefined)).status).toBe(403);
});

test('an unauthenticated request with "Expect: 100-continue" gets no 100', async () => {
  const server = createServer({ source: new ToolRegistry(), authenticate: () => undefined });
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close());
  const headers = { ...call.headers, 'content-length': 1_000_000, expect: '100-continue' };
  const request = httpRequest(listening.url, { method: 'POST', headers, agent: false });
  let told = false;
  request.on('continue', () => {
    told = true;
  });
  request.flushHeaders();
  const [response] = await once(request, 'response');
  request.on('error', () => {}).destroy();
  expect(response.statusCode).toBe(401);
  expect(told).toBe(false);
});
