import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, type Client, type ClientOptions } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { createTestClient } from '../../src/testing.ts';
import { said, standard, type Got } from '../client/peers.ts';
import { bridgeTo, answerHandshake } from './bridge.ts';

const form = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    later: { a: 1 },
    _meta: { 'acme.com/x': 1 },
  },
};
const handlers = {
  form: () => ({ action: 'accept' as const, content: { name: 'Ada' } }),
  url: () => ({ action: 'accept' as const }),
};
const near = { protocol: '2026-07-28', handlers, tasks: false };

function calls(upstream: { readonly got: readonly Got[] }): Record<string, unknown>[] {
  return upstream.got
    .filter(({ body }) => body['method'] === 'tools/call')
    .map(({ body }) => body['params'] as Record<string, unknown>);
}

test.each(['2026-07-28', '2025-11-25'])(
  'on %s the upstream gets back its own state and the answers under its own keys, and the client sees neither',
  async (protocol) => {
    const state = ' {"odd": "bytes\u00e9"} ';
    const seen: string[] = [];
    const { near: client, upstream } = await bridgeTo(
      (got) => {
        if (got.body['method'] !== 'tools/call') return standard(got);
        if ('requestState' in (got.body['params'] as object)) return got.reply(said('thanks'));
        return got.reply({
          resultType: 'input_required',
          inputRequests: { 'who is it?': form },
          requestState: state,
        });
      },
      { near: { ...near, protocol, onMessage: (_from, text) => seen.push(text) } },
    );
    expect(await client.callTool('echo').text()).toBe('thanks');
    const [, second] = calls(upstream);
    expect(second).toMatchObject({
      requestState: state,
      inputResponses: { 'who is it?': { action: 'accept', content: { name: 'Ada' } } },
    });
    const asked = seen.find((text) => text.includes('Who?'));
    expect(asked).toContain('"later":{"a":1}');
    expect(asked).toContain('"acme.com/x":1');
    expect(seen.join()).not.toContain('odd');
  },
);

test('an upstream that only asks for its state gets it without a question to anybody', async () => {
  let count = 0;
  const { near: client, upstream } = await bridgeTo(
    (got) => {
      if (got.body['method'] !== 'tools/call') return standard(got);
      if (++count > 2) return got.reply(said('at last'));
      return got.reply({ resultType: 'input_required', requestState: `wait ${count}` });
    },
    { near },
  );
  expect(await client.callTool('echo').text()).toBe('at last');
  expect(calls(upstream).map(({ requestState }) => requestState)).toEqual([undefined, 'wait 1', 'wait 2']);
});

test('an upstream that keeps asking is given up after a number of rounds', async () => {
  const { near: client } = await bridgeTo(
    (got) => {
      if (got.body['method'] !== 'tools/call') return standard(got);
      return got.reply({ resultType: 'input_required', inputRequests: { a: form } });
    },
    { near: { ...near, protocol: '2025-11-25' } },
  );
  const result = await client.callTool('echo');
  expect(result.isError).toBe(true);
  expect(result.text()).toContain('asked in more than 10 rounds');
});

test.each([
  ['2026-07-28', { form: handlers.form }, { elicitation: { form: {} } }],
  ['2026-07-28', {}, {}],
  ['2025-11-25', { ...handlers }, { elicitation: { form: {}, url: {} } }],
])(
  'an upstream gets the capabilities of the client of %s, and nothing more',
  async (protocol, some, expected) => {
    const { near: client, upstream } = await bridgeTo(
      (got) => (got.body['method'] === 'tools/call' ? got.reply(said('ok')) : standard(got)),
      { near: { protocol, handlers: some, tasks: false } },
    );
    await client.callTool('echo');
    const [{ _meta }] = calls(upstream) as [{ _meta: Record<string, unknown> }];
    expect(_meta['io.modelcontextprotocol/clientCapabilities']).toEqual(expected);
  },
);

test('a page that an older upstream requires becomes a question, and the call is made again', async () => {
  const elicitations = [
    { mode: 'url', message: 'Sign in', url: 'https://example.com/in', elicitationId: 'e1' },
  ];
  const pages: string[] = [];
  const url = (page: { readonly url: string }): { action: 'accept' } => {
    pages.push(page.url);
    return { action: 'accept' };
  };
  for (const protocol of ['2026-07-28', '2025-11-25']) {
    const { near: client, upstream } = await bridgeTo(
      (got) => {
        if (answerHandshake(got)) return;
        if (got.body['method'] !== 'tools/call') return standard(got);
        if (calls(upstream).length > 1) return got.reply(said('signed in'));
        return got.refuse(-32042, 'Sign in first.', { data: { elicitations } });
      },
      { near: { protocol, handlers: { url }, tasks: false }, far: { protocol: '2025-11-25' } },
    );
    expect(await client.callTool('echo').text()).toBe('signed in');
  }
  expect(pages).toEqual(['https://example.com/in', 'https://example.com/in']);
});

test('a client that cannot open pages gets the address as text', async () => {
  const elicitations = [{ mode: 'url', message: 'Sign in', url: 'https://example.com/in' }];
  const { near: client } = await bridgeTo(
    (got) => {
      if (answerHandshake(got)) return;
      if (got.body['method'] !== 'tools/call') return standard(got);
      return got.refuse(-32042, 'Sign in first.', { data: { elicitations } });
    },
    { far: { protocol: '2025-11-25' } },
  );
  const result = await client.callTool('echo');
  expect(result.isError).toBe(true);
  expect(result.text()).toContain('https://example.com/in');
});

async function startAsking(options: ClientOptions = {}): Promise<Client> {
  const fixture = join(import.meta.dirname, 'fixtures/asking.mjs');
  const client = await connectStdio(process.execPath, [fixture], {
    protocol: '2025-06-18',
    capabilities: { elicitation: {} },
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

const answer = (): object => ({ action: 'accept', content: { name: 'Ada' } });

test('over stdio a question belongs to the only running call', async () => {
  const server = createServer({ source: await startAsking() });
  const client = createTestClient(server, { answer });
  expect((await client.callTool('ask')).text).toBe('{"action":"accept","content":{"name":"Ada"}}');
});

test('over stdio a question is refused when it is unclear which of several calls it belongs to', async () => {
  const server = createServer({ source: await startAsking() });
  const client = createTestClient(server, { answer });
  const results = await Promise.all([
    client.callTool('ask', { after: 2 }),
    client.callTool('ask', { after: 2 }),
  ]);
  for (const { text } of results)
    expect(JSON.parse(text)).toEqual({
      code: -32603,
      message: expect.stringContaining('it is not clear which of them asks'),
    });
});
