import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { sendStream, startEndpoint, type ModelEndpoint } from '../../../test/host/model-endpoint.ts';
import { chatStream, messagesStream } from '../../../test/host/model-streams.ts';
import { within } from '../../../test/within.ts';
import type { ToolcribError } from '../../base/errors.ts';
import { createFakeClock } from '../../testing.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import { askedWaitMs } from './asked-wait.ts';
import type { EndpointOptions } from './endpoint-options.ts';
import type { Model, ModelEvent, ModelRequest } from './model.ts';
import { openAiChat } from './openai-chat.ts';

const KEY = 'sk-very-secret-key-0123456789';
const ask: ModelRequest = {
  instructions: '',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
  parallel: true,
};

let endpoint: ModelEndpoint | undefined;

afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});

async function start(answer: (response: ServerResponse, number: number) => void): Promise<ModelEndpoint> {
  endpoint = await startEndpoint(answer);
  return endpoint;
}

function chat(options: Partial<EndpointOptions> = {}): Model {
  return openAiChat({ name: 'm', baseUrl: endpoint!.url, key: KEY, ...options });
}

async function listen(model: Model, onEvent: (event: ModelEvent) => void = () => {}): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const heard = (async () => {
    for await (const event of model.respond(ask, { signal: new AbortController().signal })) {
      events.push(event);
      onEvent(event);
    }
  })();
  await within(10_000, 'the end of a turn', heard);
  return events;
}

function refuse(
  response: ServerResponse,
  status: number,
  { headers = {}, body = {} }: { headers?: Record<string, string>; body?: unknown } = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

test.each([429, 500, 503, 529])(
  'a request is sent again after status %i, when the endpoint says so',
  async (status) => {
    const clock = createFakeClock();
    await start((response, number) =>
      number === 0
        ? refuse(response, status, { headers: { 'retry-after': '30' } })
        : sendStream(response, chatStream),
    );
    const events = await listen(chat({ clock }), (event) => {
      if (event.type === 'waiting') setImmediate(() => clock.advance(event.ms));
    });
    expect(events[0]).toMatchObject({
      type: 'waiting',
      reason: expect.stringContaining('The model endpoint') as string,
    });
    expect((events[0] as { ms: number }).ms).toBeGreaterThanOrEqual(30_000);
    expect(events.at(-1)).toMatchObject({ type: 'end' });
    expect(endpoint!.seen[1]!.body).toEqual(endpoint!.seen[0]!.body);
  },
);

test('a connection that is closed before the response is retried', async () => {
  const clock = createFakeClock();
  await start((response, number) => (number === 0 ? response.destroy() : sendStream(response, chatStream)));
  const events = await listen(chat({ clock }), ({ type }) => {
    if (type === 'waiting') setImmediate(() => clock.advance(1_000));
  });
  expect(events.map(({ type }) => type)).toEqual(['waiting', 'text', 'text', 'end']);
});

test('an endpoint that reports overload in its stream is retried', async () => {
  const clock = createFakeClock();
  const error =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';
  await start((response, number) => sendStream(response, number === 0 ? error : messagesStream));
  const model = anthropicMessages({ name: 'm', baseUrl: endpoint!.url, clock });
  const events = await listen(model, ({ type }) => {
    if (type === 'waiting') setImmediate(() => clock.advance(1_000));
  });
  expect(events.map(({ type }) => type)).toEqual(['waiting', 'text', 'text', 'end']);
});

test('after its first event a response is never requested again', async () => {
  const first = chatStream.slice(0, chatStream.indexOf('\n\n') + 2);
  await start((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(first, () => response.destroy());
  });
  await expect(listen(chat())).rejects.toMatchObject({ code: 'upstream_unavailable' });
  expect(endpoint!.seen).toHaveLength(1);
});

test('retries are limited in number and in time', async () => {
  const clock = createFakeClock();
  await start((response) => refuse(response, 503));
  const events: ModelEvent[] = [];
  const tried = listen(chat({ clock, limits: { retries: 2 } }), (event) => {
    events.push(event);
    if (event.type === 'waiting') setImmediate(() => clock.advance(event.ms));
  });
  await expect(tried).rejects.toMatchObject({ code: 'upstream_unavailable' });
  expect(events).toHaveLength(2);
  await endpoint!.close();
  await start((response) => refuse(response, 429, { headers: { 'retry-after': '3600' } }));
  await expect(listen(chat())).rejects.toMatchObject({
    code: 'rate_limited',
    data: { retryAfterMs: 3_600_000 },
  });
  expect(endpoint!.seen).toHaveLength(1);
});

test('an exhausted quota is not retried', async () => {
  await start((response) =>
    refuse(response, 429, { body: { error: { code: 'insufficient_quota', message: 'Pay.' } } }),
  );
  await expect(listen(chat())).rejects.toMatchObject({ code: 'refused' });
});

test.each([
  [{ 'retry-after-ms': '1500' }, 1_500],
  [{ 'retry-after': '2.5' }, 2_500],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:09 GMT' }, 9_000],
  [{ 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
  [{ 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '20ms' }, 20],
  [{ 'x-ratelimit-remaining-tokens': '7', 'x-ratelimit-reset-tokens': '6m0s' }, undefined],
  [
    {
      'anthropic-ratelimit-tokens-remaining': '0',
      'anthropic-ratelimit-tokens-reset': '1970-01-01T00:00:05Z',
    },
    5_000,
  ],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
])('the time to wait in %j is read', (headers: Record<string, string>, ms) => {
  expect(askedWaitMs((name) => headers[name], 0)).toBe(ms);
});

test('aborting closes the connection at once, during a response and during a pause', async () => {
  await start((response, number) => {
    if (number > 0) return refuse(response, 503);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chatStream.slice(0, 400));
  });
  for (const type of ['text', 'waiting']) {
    const controller = new AbortController();
    const turn = (async () => {
      for await (const event of chat({ clock: createFakeClock() }).respond(ask, controller))
        if (event.type === type) controller.abort();
    })();
    await expect(within(5_000, 'the end of an aborted turn', turn)).rejects.toMatchObject({
      code: 'cancelled',
    });
  }
  const closed = (async () => {
    while (endpoint!.gone.count === 0) await new Promise((resolve) => setImmediate(resolve));
  })();
  await within(5_000, 'the connection to be closed', closed);
});

test('a reader that stops closes the connection', async () => {
  await start((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chatStream.slice(0, 400));
  });
  for await (const event of chat().respond(ask, { signal: new AbortController().signal }))
    if (event.type === 'text') break;
  const closed = (async () => {
    while (endpoint!.gone.count === 0) await new Promise((resolve) => setImmediate(resolve));
  })();
  await within(5_000, 'the connection to be closed', closed);
  expect(endpoint!.gone.count).toBe(1);
});

test('an invalid key is named by its variable, and no error shows the key', async () => {
  const statuses = [401, 403, 400, 404, 422];
  await start((response, number) =>
    refuse(response, statuses[number]!, {
      body: { error: { message: `Wrong key ${KEY}: \u001b[31m no`, code: KEY } },
    }),
  );
  const errors: unknown[] = [];
  for (const _ of statuses)
    await listen(chat({ keyVariable: 'MY_KEY' })).catch((error: unknown) => errors.push(error));
  expect(errors).toMatchObject([
    { code: 'needs_sign_in', message: expect.stringContaining('Set MY_KEY') as string },
    { code: 'refused' },
    { code: 'remote_error', message: expect.stringContaining('[redacted:secret]') as string },
    { code: 'invalid_setup' },
    { code: 'remote_error' },
  ]);
  for (const error of errors as ToolcribError[]) {
    const { message, stack, cause } = error;
    const { data } = error;
    const all = JSON.stringify({ data, message, stack, cause: String(cause) });
    expect(all).not.toContain(KEY);
    expect(all).not.toContain('\\u001b');
  }
});

test('without a key none is sent, and a required one is asked for', async () => {
  await start((response) => refuse(response, 401));
  const model = openAiChat({ name: 'm', baseUrl: endpoint!.url });
  await expect(listen(model)).rejects.toMatchObject({
    code: 'needs_sign_in',
    message: expect.stringContaining('wants a key. Set OPENAI_API_KEY') as string,
  });
  expect(endpoint!.seen[0]!.headers).not.toHaveProperty('authorization');
});

test('a key with a line break is refused before a request is sent', () => {
  expect(() => openAiChat({ name: 'm', key: `${KEY}\r\nx: y` })).toThrow(
    expect.objectContaining({ code: 'invalid_setup', message: expect.not.stringContaining(KEY) as string }),
  );
});

test.each([
  [400, { error: { code: 'context_length_exceeded', message: 'Too long.' } }],
  [
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
    },
  ],
  [
    400,
    {
      error: { type: 'exceed_context_size_error', message: 'the request exceeds the available context size' },
    },
  ],
  [413, {}],
])('an error for a conversation that is too long is recognised: %i %j', async (status, body) => {
  await start((response) => refuse(response, status, { body }));
  await expect(listen(chat())).rejects.toMatchObject({
    code: 'too_large',
    data: { reason: 'context_too_long' },
  });
});

test('a redirect is an error, and the key is sent to no other origin', async () => {
  const other = await startEndpoint((response) => sendStream(response, chatStream));
  await start((response) => response.writeHead(307, { location: `${other.url}/chat/completions` }).end());
  await expect(listen(chat())).rejects.toMatchObject({ code: 'invalid_setup' });
  expect(other.seen).toEqual([]);
  await other.close();
});

test('an HTML page in place of a response causes an error that says what to check', async () => {
  await start((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'));
  await expect(listen(chat())).rejects.toMatchObject({
    code: 'invalid_answer',
    message: expect.stringContaining('check the base URL') as string,
  });
});

function flood(text: string): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = (): void => {
      if (response.destroyed) return;
      if (response.write(text)) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  };
}

test.each([
  [
    'events without end',
    `data: ${JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(1_000) } }] })}\n\n`,
  ],
  ['comments without end', `: ${'x'.repeat(1_000)}\n`],
  ['an event without end', 'x'.repeat(10_000)],
  ['a field without end', `data: ${'x'.repeat(10_000)}\n`],
])('an endpoint that sends %s is given up', async (_what, text) => {
  await start(flood(text));
  const limits = { eventBytes: 100_000, totalBytes: 500_000 };
  await expect(listen(chat({ limits }))).rejects.toMatchObject({ code: 'invalid_answer' });
});

test.each(['x'.repeat(10_000), `data: ${'x'.repeat(10_000)}\n`])(
  'the size of one event is limited separately (%#)',
  async (text) => {
    await start(flood(text));
    const failure = listen(chat({ limits: { eventBytes: 100_000, totalBytes: 5_000_000 } }));
    await expect(failure).rejects.toMatchObject({
      code: 'invalid_answer',
      message: expect.not.stringContaining('5000000'),
    });
  },
);

test.each([
  'null',
  '[]',
  '1',
  '"x"',
  '{"choices":{}}',
  '{"choices":[null]}',
  '{"choices":[{"delta":7}]}',
  '{',
  '{"usage":[]}',
])('a malformed event is reported as an invalid response: %s', async (data) => {
  await start((response) => sendStream(response, `data: ${data}\n\ndata: [DONE]\n\n`));
  await expect(listen(chat())).rejects.toMatchObject({ code: 'invalid_answer' });
});

test('an endpoint that falls silent, or takes too long, is given up', async () => {
  await start((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chatStream.slice(0, 400));
  });
  await expect(listen(chat({ limits: { idleMs: 50 } }))).rejects.toMatchObject({
    code: 'upstream_unavailable',
  });
  const clock = createFakeClock();
  const tried = listen(chat({ clock, limits: { totalMs: 60_000 } }), ({ type }) => {
    if (type === 'text') setImmediate(() => clock.advance(60_000));
  });
  await expect(tried).rejects.toMatchObject({ code: 'timed_out' });
});

test('an address where nothing listens is reported at once', async () => {
  await start(() => {});
  const { url } = endpoint!;
  await endpoint!.close();
  await expect(listen(openAiChat({ name: 'm', baseUrl: url }))).rejects.toMatchObject({
    code: 'upstream_unavailable',
    message: expect.stringMatching(/nothing listens there\. See whether it is running/) as string,
  });
});

test.each([
  ['http://127.0.0.1:1/v1', '/v1/messages'],
  ['http://127.0.0.1:1/v1/', '/v1/messages'],
  ['http://127.0.0.1:1/proxy?a=b', '/proxy/v1/messages?a=b'],
])('base URLs are accepted with and without the version: %s', async (base, path) => {
  await start((response) => sendStream(response, messagesStream));
  await listen(anthropicMessages({ name: 'm', baseUrl: base.replace('http://127.0.0.1:1', endpoint!.url) }));
  expect(endpoint!.seen[0]!.url).toBe(path);
});

test.each(['ftp://a', 'nonsense', 'https://user:pass@example.com'])(
  'a base URL such as %s is refused',
  (baseUrl) => {
    expect(() => openAiChat({ name: 'm', baseUrl })).toThrow(
      expect.objectContaining({ code: 'invalid_setup' }),
    );
  },
);
