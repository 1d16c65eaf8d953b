import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  Cancelled,
  createServer,
  defineResource,
  definePrompt,
  defineTool,
  ToolRegistry,
  type ListedTool,
  type QuestionHandlers,
} from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { within } from '../within.ts';
import { makeUp, open, said, serve, standard, ECHO } from './peers.ts';

const handlers: QuestionHandlers = {
  form: ({ message }) => ({
    action: 'accept',
    content: { colour: message.includes('red') ? 'red' : 'green' },
  }),
  url: () => ({ action: 'accept' }),
  sample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: '42' } }),
  roots: () => [{ uri: 'file:///work', name: 'work' }],
};

const ask = defineTool(
  { name: 'ask', description: 'Asks much.' },
  async (_args, { elicit, sample, roots }) => {
    const form = await elicit({
      key: 'form',
      message: 'red?',
      schema: z.object({ colour: z.enum(['red', 'green']), n: z.number().default(3) }),
    });
    const [page, model, folders] = await Promise.all([
      elicit({ key: 'page', message: 'Look.', url: 'https://example.com/' }),
      sample({
        key: 'model',
        messages: [{ role: 'user', content: { type: 'text', text: '?' } }],
        maxTokens: 5,
      }),
      roots({ key: 'roots' }),
    ]);
    return { form, page: page.action, model: model.model, folders: folders.length };
  },
);

for (const protocol of ['2026-07-28', '2025-11-25'])
  test(`on ${protocol} forms, pages, sampling and roots are answered by the handlers, in every round`, async () => {
    const client = await open(await serve([ask]), { protocol, handlers });
    expect(
      await client
        .callTool('ask')
        .unwrap()
        .then((result) => result.data()),
    ).toEqual({
      form: { action: 'accept', content: { colour: 'red', n: 3 } },
      page: 'accept',
      model: 'm',
      folders: 1,
    });
  });

test('the state of a server is sent back unchanged, with a new request id, and only with that call', async () => {
  const calls: Record<string, unknown>[] = [];
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    calls.push(got.body);
    if (calls.length > 1) return got.reply(said('thanks'));
    const asked = { method: 'roots/list', params: { later: true } };
    return got.reply({
      resultType: 'input_required',
      inputRequests: { dirs: asked },
      requestState: ' {"x": 1} ',
    });
  });
  const client = await open(server.url, { handlers });
  expect(await client.callTool('echo', {}).text()).toBe('thanks');
  expect(calls[1]).toMatchObject({
    params: { requestState: ' {"x": 1} ', inputResponses: { dirs: { roots: [{ uri: 'file:///work' }] } } },
  });
  expect(calls[1]!['id']).not.toBe(calls[0]!['id']);
});

test('a server that keeps asking is given up after ten rounds', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    return got.reply({ resultType: 'input_required', inputRequests: { dirs: { method: 'roots/list' } } });
  });
  const client = await open(server.url, { handlers });
  await expect(client.callTool('echo', {})).rejects.toMatchObject({ code: 'cannot_ask' });
  expect(server.methods().filter((method) => method === 'tools/call').length).toBe(11);
});

test('a call whose caller gives up while its handler is asked ends at once, whatever the handler does', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    return got.reply({ resultType: 'input_required', inputRequests: { dirs: { method: 'roots/list' } } });
  });
  const answers = {
    never: () => new Promise<never>(() => {}),
    'an error': (signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('no')))),
  };
  for (const answer of Object.values(answers)) {
    const caller = new AbortController();
    const roots = ({ signal }: { readonly signal: AbortSignal }): Promise<never> => {
      setImmediate(() => caller.abort());
      return answer(signal);
    };
    const client = await open(server.url, { handlers: { roots } });
    const call = client.callTool('echo', {}, { signal: caller.signal });
    await expect(within(5_000, 'the call', call)).rejects.toBeInstanceOf(Cancelled);
  }
});

test('C9 a server that asks more at once than is answered gets no answer, and no handler is called', async () => {
  const inputRequests = Object.fromEntries(
    Array.from({ length: 33 }, (_, index) => [`q-${index}`, { method: 'roots/list' }]),
  );
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    return got.reply({ resultType: 'input_required', inputRequests });
  });
  let asked = 0;
  const client = await open(server.url, { handlers: { roots: () => (asked++, []) } });
  await expect(client.callTool('echo', {})).rejects.toMatchObject({
    code: 'cannot_ask',
    message: 'The server asks 33 questions at once, and 32 at most are answered.',
  });
  expect(asked).toBe(0);
});

for (const protocol of ['2026-07-28', '2025-11-25'])
  test(`on ${protocol} a program can declare more of what it has a handler for, and extensions`, async () => {
    const declared: unknown[] = [];
    const server = await makeUp((got) => {
      const { method, params } = got.body as { method: string; params?: Record<string, unknown> };
      const meta = params?.['_meta'] as Record<string, unknown> | undefined;
      const told = params?.['capabilities'] ?? meta?.['io.modelcontextprotocol/clientCapabilities'];
      if (method === 'initialize' || method === 'tools/list') declared.push(told);
      if (got.body['id'] === undefined) return void got.response.writeHead(202).end();
      if (method !== 'initialize') return standard(got);
      return got.reply({ protocolVersion: protocol, capabilities: {} });
    });
    const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
    const client = await open(server.url, {
      protocol,
      handlers,
      capabilities: { sampling: { tools: {} }, extensions },
    });
    await client.listTools();
    expect(declared[0]).toMatchObject({
      sampling: { tools: {} },
      elicitation: { form: {}, url: {} },
      roots: {},
      extensions,
    });
  });

for (const protocol of ['2026-07-28', '2025-11-25'])
  test(`on ${protocol} a changed list is loaded again and announced to the program (000-36)`, async () => {
    const registry = new ToolRegistry().registerTool(ask);
    const client = await open(await serve(registry), { protocol });
    expect((await client.listTools()).length).toBe(1);
    const changed = new Promise<readonly ListedTool[] | undefined>((resolve) =>
      client.on('toolsChanged', resolve),
    );
    // The stream for changes may not be open yet, so changes are made until one is announced.
    let count = 0;
    const timer = setInterval(() => {
      registry.registerTool(defineTool({ name: `new_${++count}`, description: 'Is new.' }, () => count));
    }, 20);
    onTestFinished(() => clearInterval(timer));
    expect((await within(5_000, 'the change', changed))!.length).toBeGreaterThan(1);
    expect((await client.listTools()).length).toBeGreaterThan(1);
  });

test('resources, prompts and completions can be used', async () => {
  const registry = new ToolRegistry()
    .registerResource(defineResource({ uri: 'note://today', name: 'today' }, () => 'sunny'))
    .registerPrompt(
      definePrompt(
        { name: 'review', arguments: { what: { required: true, complete: () => ['code', 'text'] } } },
        ({ what }) => `Review ${what}.`,
      ),
    );
  for (const protocol of ['2026-07-28', '2025-06-18']) {
    const client = await open(await serve(registry), { protocol });
    expect(await client.readResource('note://today')).toMatchObject({ contents: [{ text: 'sunny' }] });
    expect(await client.listResources()).toMatchObject([{ uri: 'note://today' }]);
    expect(await client.listPrompts()).toMatchObject([{ name: 'review' }]);
    expect(await client.getPrompt('review', { what: 'code' })).toMatchObject({
      messages: [{ content: { text: 'Review code.' } }],
    });
    const suggestions = await client.complete({ prompt: 'review', argument: 'what', value: '' });
    expect(suggestions.values).toEqual(['code', 'text']);
  }
});

test('lists are read over all pages, and cached for as long as the server says', async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/list') return standard(got);
    const { cursor } = got.body['params'] as { cursor?: string };
    if (cursor === undefined)
      return got.reply({ tools: [ECHO], nextCursor: 'two', ttlMs: 60_000, cacheScope: 'private' });
    return got.reply({ tools: [{ ...ECHO, name: 'other', later: 1 }], ttlMs: 60_000, cacheScope: 'private' });
  });
  const client = await open(server.url);
  expect(await client.listTools()).toMatchObject([{ name: 'echo' }, { name: 'other', later: 1 }]);
  await client.listTools();
  expect(server.methods()).toEqual(['server/discover', 'tools/list', 'tools/list']);
});

test('a call that becomes a task is followed to its end', async () => {
  const slow = defineTool({ name: 'slow', description: 'Takes its time.' }, async (_args, { detach }) => {
    detach();
    return 'done at last';
  });
  const client = await open(await serve([slow]));
  expect(await client.callTool('slow').text()).toBe('done at last');
});

test('a task can be controlled by its handle', async () => {
  let end = (): void => {};
  const held = new Promise<void>((resolve) => (end = resolve));
  const slow = defineTool({ name: 'slow', description: 'Takes its time.' }, async (_args, { detach }) => {
    detach();
    await held;
    return 'done at last';
  });
  const client = await open(await serve([slow]));
  const task = await client.startTask('slow');
  expect(await task.state()).toMatchObject({ status: 'working', taskId: task.id });
  end();
  expect((await task.result()).text()).toBe('done at last');
});

test('a server of the first revision is found on the SSE transport', async () => {
  const listening = await listen(createServer({ source: new ToolRegistry().registerTool(ask) }), {
    port: 0,
    sse: true,
  });
  try {
    const url = new URL('/sse', listening.url).href;
    const client = await open(url, { handlers });
    expect(client.server.era).toBe('legacy');
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['ask']);
  } finally {
    await listening.close();
  }
});
