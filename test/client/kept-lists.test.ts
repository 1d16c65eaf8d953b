import { expect, test } from 'vitest';
import { definePrompt, defineResource, localCaller, ToolRegistry } from '../../src/index.ts';
import { ECHO, makeUp, open, serve, standard, type Got, type MadeUp } from './peers.ts';

const NEW = '2026-07-28';
const OLD = '2025-11-25';

function lists(server: MadeUp): number {
  return server.methods().filter((method) => method === 'tools/list').length;
}

/** Begins a stream of changes, and says what of it was agreed to. */
function acknowledge(got: Got, notifications: object): (message: object) => void {
  const send = got.stream();
  const subscription = { _meta: { 'io.modelcontextprotocol/subscriptionId': String(got.body['id']) } };
  send({
    method: 'notifications/subscriptions/acknowledged',
    params: { ...subscription, notifications },
  });
  return send;
}

function updated(uri: string): object {
  return { method: 'notifications/resources/updated', params: { uri } };
}

test('a list is kept while its changes are announced, not while those of something else are', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools: [ECHO], ttlMs: 0, cacheScope: 'private' });
    if (got.body['method'] !== 'subscriptions/listen') return false;
    const { notifications } = got.body['params'] as { notifications: object };
    acknowledge(got, notifications)(updated('note://today'));
  });
  const client = await open(server.url);
  const isOpen = new Promise<void>((resolve) => client.on('resourceUpdated', () => resolve()));
  await client.subscribe('note://today');
  await isOpen;
  await client.listTools();
  await client.listTools();
  expect(lists(server)).toBe(2);

  const isOpenAgain = new Promise<void>((resolve) => client.on('resourceUpdated', () => resolve()));
  client.on('toolsChanged', () => {});
  await isOpenAgain;
  await client.listTools();
  await client.listTools();
  // One of them caught up with what may have changed before.
  expect(lists(server)).toBe(3);
});

test('a list whose changes the server did not agree to announce is not kept', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools: [ECHO], ttlMs: 0, cacheScope: 'private' });
    if (got.body['method'] !== 'subscriptions/listen') return false;
    acknowledge(got, { resourceSubscriptions: ['note://today'] })(updated('note://today'));
  });
  const client = await open(server.url);
  const isOpen = new Promise<void>((resolve) => client.on('resourceUpdated', () => resolve()));
  client.on('toolsChanged', () => {});
  await client.subscribe('note://today');
  await isOpen;
  await client.listTools();
  await client.listTools();
  expect(lists(server)).toBe(2);
});

test('a program that follows a resource whose changes the server does not announce is warned', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'subscriptions/listen') return false;
    acknowledge(got, { resourceSubscriptions: ['note://a'] });
  });
  const client = await open(server.url);
  const warnings: string[] = [];
  client.on('warning', (text) => warnings.push(text));
  await client.subscribe('note://a');
  await client.subscribe('note://b');
  await expect.poll(() => warnings).toEqual(['The server does not announce changes of note://b.']);
});

test('a program that follows a resource of a server without a stream for changes is warned', async () => {
  const server = await makeUp(() => false);
  const client = await open(server.url);
  const warnings: string[] = [];
  client.on('warning', (text) => warnings.push(text));
  await client.subscribe('note://a');
  await expect.poll(() => warnings).toEqual(['The server does not announce changes of note://a.']);
});

test('what was kept is loaded again when the stream of changes is opened anew', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] === 'prompts/list')
      return got.reply({ prompts: [], ttlMs: 0, cacheScope: 'private' });
    if (got.body['method'] !== 'subscriptions/listen') return false;
    const { notifications } = got.body['params'] as { notifications: object };
    acknowledge(got, notifications)(updated('note://today'));
  });
  const client = await open(server.url);
  const opened: string[] = [];
  client.on('resourceUpdated', ({ uri }) => opened.push(uri));
  client.on('promptsChanged', () => {});
  await expect.poll(() => opened.length).toBe(1);
  await client.listPrompts();
  await client.listPrompts();
  await client.subscribe('note://today');
  await expect.poll(() => opened.length).toBe(2);
  await client.listPrompts();
  expect(server.methods().filter((method) => method === 'prompts/list').length).toBe(2);
});

test('C9 a server that acknowledges without end is asked for its list once', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'subscriptions/listen') return false;
    const send = acknowledge(got, { toolsListChanged: true });
    for (let count = 0; count < 500; count++)
      send({ method: 'notifications/subscriptions/acknowledged', params: {} });
    send(updated('note://today'));
  });
  const client = await open(server.url);
  await client.listTools();
  client.on('toolsChanged', () => {});
  await new Promise<void>((resolve) => client.on('resourceUpdated', () => resolve()));
  await client.listTools();
  expect(lists(server)).toBe(2);
});

test.each([
  ['no stream for changes', false, 2],
  ['such a stream', true, 1],
])('a server of 2025-11-25 that promises to tell of changes, and has %s', async (_, hasStream, expected) => {
  const server = await makeUp((got) => {
    const { body, request, response, reply } = got;
    if (request.method === 'GET') {
      if (!hasStream) return void response.writeHead(405).end();
      return got.stream()({ method: 'notifications/resources/list_changed' });
    }
    if (body['method'] === 'initialize')
      return reply({
        protocolVersion: OLD,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'old', version: '1' },
      });
    if (body['id'] === undefined) return void response.writeHead(202).end();
    return reply({ tools: [ECHO] });
  });
  const client = await open(server.url, { protocol: OLD });
  const isTold = new Promise<void>((resolve) => client.on('resourcesChanged', () => resolve()));
  if (hasStream) await isTold;
  else await expect.poll(() => server.got.some(({ request }) => request.method === 'GET')).toBe(true);
  await client.listTools();
  await client.listTools();
  expect(lists(server)).toBe(expected);
});

test('a server whose revision was given has what it lists, though it was not asked', async () => {
  const registry = new ToolRegistry()
    .registerResource(defineResource({ uri: 'note://today', name: 'today' }, () => 'sunny'))
    .registerPrompt(definePrompt({ name: 'review' }, () => 'Review.'));
  const client = await open(await serve(registry), { protocol: NEW });
  expect(await client.resources!.list(localCaller)).toMatchObject([{ uri: 'note://today' }]);
  expect(await client.prompts!.list(localCaller)).toMatchObject([{ name: 'review' }]);
});

test('a list that a server whose revision was given does not know is empty', async () => {
  const server = await makeUp(standard);
  const client = await open(server.url, { protocol: NEW });
  expect(await client.prompts!.list(localCaller)).toEqual([]);
  expect(await client.resources!.list(localCaller)).toEqual([]);
  await expect((await open(server.url)).listPrompts()).rejects.toMatchObject({ code: 'unknown_method' });
});
