import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { parseEvents } from './events.ts';
import { describeWeb, legacyPost, modernPost, type WebRequest } from './web.ts';

const report = defineTool({ name: 'report', description: 'Reports.' }, (_args, { progress }) => {
  progress(1);
  return 'done';
});
const posts = [
  ['2026-07-28', modernPost],
  ['2025-06-18', legacyPost],
] as const;
const asked = { name: 'report', _meta: { progressToken: 'p' } };
const unasked = { name: 'report' };

async function messagesOf(response: Response): Promise<{ form: string | null; methods: unknown[] }> {
  const form = response.headers.get('content-type');
  const messages: { method?: string; result?: object }[] = [];
  if (form === 'text/event-stream') {
    for await (const text of parseEvents(response.body!)) messages.push(JSON.parse(text));
  } else messages.push((await response.json()) as object);
  return { form, methods: messages.map(({ method, result }) => method ?? (result ? 'result' : 'error')) };
}

describeWeb((open) => {
  for (const [version, post] of posts) {
    test.each([
      ['no Accept header', undefined, 'application/json'],
      ['*/*', '*/*', 'application/json'],
      ['both forms', 'application/json, text/event-stream', 'application/json'],
      ['both forms with weights', 'text/event-stream;q=0.9, application/json;q=0.1', 'application/json'],
      ['JSON alone', 'application/json', 'application/json'],
      ['events alone', 'text/event-stream', 'text/event-stream'],
      ['neither', 'text/html', 'application/json'],
    ])(`${version}: a client that accepts %s is answered`, async (_what, accept, form) => {
      const site = await open({ tools: [report] });
      const response = await site.send(post('tools/call', unasked, { accept }));
      expect(response.status).toBe(200);
      expect(await messagesOf(response)).toEqual({ form, methods: ['result'] });
    });

    test.each([
      ['no Accept header', undefined],
      ['*/*', '*/*'],
      ['both forms', 'application/json, text/event-stream'],
      ['events alone', 'text/event-stream'],
    ])(`${version}: a client that accepts %s gets progress before the response`, async (_what, accept) => {
      const site = await open({ tools: [report] });
      const response = await site.send(post('tools/call', asked, { accept }));
      expect(response.headers.get('x-accel-buffering')).toBe('no');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(await messagesOf(response)).toEqual({
        form: 'text/event-stream',
        methods: ['notifications/progress', 'result'],
      });
    });

    test(`${version}: a client that accepts JSON alone gets only the response, with or without progress`, async () => {
      const site = await open({ tools: [report] });
      const response = await site.send(post('tools/call', asked, { accept: 'application/json' }));
      expect(await messagesOf(response)).toEqual({ form: 'application/json', methods: ['result'] });
    });
  }

  test('a list is sent as one event to a client that accepts event streams alone', async () => {
    const site = await open({ tools: [report] });
    const response = await site.send(modernPost('tools/list', {}, { accept: 'text/event-stream' }));
    expect(await messagesOf(response)).toEqual({ form: 'text/event-stream', methods: ['result'] });
  });

  test('an error with a status of its own is JSON, whatever the client accepts', async () => {
    const site = await open();
    const response = await site.send(modernPost('no/such', {}, { accept: 'text/event-stream' }));
    expect(response.status).toBe(404);
    expect(await messagesOf(response)).toEqual({ form: 'application/json', methods: ['error'] });
  });

  test.each(['GET', 'DELETE', 'PUT', 'PATCH'])(
    '%s without a session has status 405, with the allowed methods',
    async (method) => {
      const site = await open();
      const response = await site.send({ method, headers: { accept: 'text/event-stream' } });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
    },
  );

  test.each([
    ['no type', undefined],
    ['text', 'text/plain'],
    ['a form', 'application/x-www-form-urlencoded'],
    ['another charset', 'application/json; charset=latin1'],
  ])('a body of %s is refused', async (_what, type) => {
    const site = await open();
    const response = await site.send(legacyPost('ping', {}, { 'content-type': type }));
    expect(response.status).toBe(415);
  });

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('a body of type %s is JSON', async (type) => {
    const site = await open();
    expect((await site.send(legacyPost('ping', {}, { 'content-type': type }))).status).toBe(200);
  });

  const origin = 'https://app.example';
  const preflight = (from: string): WebRequest => ({
    method: 'OPTIONS',
    headers: {
      origin: from,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,mcp-method,mcp-name,mcp-protocol-version',
    },
  });

  test('a browser may send a preflight request for an allowed page, without signing in', async () => {
    const site = await open({ allowedOrigins: [origin], authenticate: () => undefined });
    const response = await site.send(preflight(origin));
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('vary')).toBe('Origin');
    expect(response.headers.get('access-control-allow-methods')).toBe('POST, GET, DELETE');
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
    const allowed = response.headers.get('access-control-allow-headers')!.split(', ');
    for (const header of [
      'authorization',
      'content-type',
      'accept',
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
      'mcp-session-id',
      'last-event-id',
    ]) {
      expect(allowed).toContain(header);
    }
  });

  test('a page may send the headers that mirror arguments, and no other headers of its own', async () => {
    const site = await open({ allowedOrigins: [origin] });
    const allowedOf = async (...names: string[]): Promise<string[]> => {
      const { headers, ...rest } = preflight(origin);
      const asking = { ...headers, 'access-control-request-headers': names.join(',') };
      const response = await site.send({ ...rest, headers: asking });
      expect(response.status).toBe(204);
      return response.headers.get('access-control-allow-headers')!.split(', ');
    };
    const usual = await allowedOf('content-type');
    expect(await allowedOf('content-type', ' Mcp-Param-Owner', 'mcp-param-page')).toEqual([
      ...usual,
      'mcp-param-owner',
      'mcp-param-page',
    ]);
    expect(
      await allowedOf('x-mcp-param-a', 'mcp-param-', 'mcp-param-a b', 'mcp-param-"a"', 'cookie'),
    ).toEqual(usual);
    const many = Array.from({ length: 1_000 }, (_, index) => `mcp-param-${index}`);
    expect((await allowedOf(...many)).length).toBeLessThanOrEqual(usual.length + 64);
  });

  test('an allowed page may read the response, as JSON and as an event stream', async () => {
    const site = await open({ tools: [report], allowedOrigins: [origin] });
    for (const params of [asked, unasked]) {
      const response = await site.send(modernPost('tools/call', params, { origin }));
      expect(response.headers.get('access-control-allow-origin')).toBe(origin);
      expect(response.headers.get('access-control-expose-headers')).toContain('www-authenticate');
      await response.text();
    }
  });

  test('pages of this machine may call; any other page may not, and reads nothing', async () => {
    const site = await open({ tools: [report], allowedOrigins: [origin] });
    for (const here of ['http://localhost:5173', 'http://127.0.0.1', 'http://[::1]:8080']) {
      expect((await site.send(modernPost('tools/list', {}, { origin: here }))).status).toBe(200);
    }
    for (const elsewhere of [
      'https://evil.example',
      'https://app.example.evil.example',
      'null',
      'http://localhost.evil.example',
    ]) {
      for (const request of [modernPost('tools/list', {}, { origin: elsewhere }), preflight(elsewhere)]) {
        const response = await site.send(request);
        expect(response.status).toBe(403);
        expect(response.headers.get('access-control-allow-origin')).toBeNull();
      }
    }
  });
});
