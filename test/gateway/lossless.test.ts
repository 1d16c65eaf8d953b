import { expect, test } from 'vitest';
import { RemoteError, withStages, type Stage } from '../../src/index.ts';
import { ECHO, open, serveSource, standard, type Got } from '../client/peers.ts';
import { answerHandshake, bridgeTo } from './bridge.ts';

const LONG = '9007199254740993';

/** Answers one method, and the others as a server with resources and prompts does. */
function answering(method: string, answer: (got: Got) => void): (got: Got) => void {
  return (got) => {
    if (got.body['method'] === method) return answer(got);
    switch (got.body['method']) {
      case 'server/discover':
        return got.reply({
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
        });
      case 'resources/list':
        return got.reply({ resources: [{ uri: 'note://a', name: 'a', color: 'red' }] });
      case 'resources/templates/list':
        return got.reply({ resourceTemplates: [{ uriTemplate: 'note://{id}', name: 'n', color: 'blue' }] });
      case 'prompts/list':
        return got.reply({
          prompts: [{ name: 'review', color: 'green', arguments: [{ name: 'what', color: 'grey' }] }],
        });
      default:
        return standard(got);
    }
  };
}

/** Answers with this text as the result, letter by letter. */
function raw({ body, response }: Got, result: string): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`{"jsonrpc":"2.0","id":${String(body['id'])},"result":${result}}`);
}

async function failureOf(call: PromiseLike<unknown>): Promise<RemoteError> {
  const failure: unknown = await Promise.resolve(call).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RemoteError);
  return failure as RemoteError;
}

test("an error with a number of the far server's own passes with all its members, cleaned", async () => {
  const error = { code: 4711, message: 'Out of\u0007 ink.', data: [1, 'two'], hint: 'refill' };
  const { near } = await bridgeTo(
    answering('tools/call', ({ body, response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: body['id'], error }));
    }),
  );
  const { remote } = await failureOf(near.callTool('echo'));
  expect(remote).toEqual({ ...error, message: 'Out of ink.' });
});

test('invalid parameters that the far server complains of stay an error with its words', async () => {
  const { near } = await bridgeTo(
    answering('tools/call', ({ refuse }) => refuse(-32602, 'Too much of it.', { data: { most: 3 } })),
  );
  const { remote } = await failureOf(near.request('tools/call', { name: 'echo', arguments: {} }));
  expect(remote).toEqual({ code: -32602, message: 'Too much of it.', data: { most: 3 } });
});

test.each([-32020, -32021, -32022])(
  'the error %i speaks of the connection behind, so the client hears only of a fault',
  async (code) => {
    const { near } = await bridgeTo(
      answering('tools/call', ({ refuse }) => refuse(code, 'Not so.', { data: { requested: 'x' } })),
    );
    const { remote } = await failureOf(near.callTool('echo'));
    expect(remote['code']).toBe(-32603);
    expect(JSON.stringify(remote)).not.toContain('Not so');
  },
);

test('what the far server misses in the client is told in our own words', async () => {
  const requiredCapabilities = { sampling: {}, 'acme/secret': {} };
  const { near } = await bridgeTo(
    answering('tools/call', ({ refuse }) => refuse(-32021, 'No.', { data: { requiredCapabilities } })),
  );
  const { remote } = await failureOf(near.callTool('echo'));
  expect(remote).toEqual({
    code: -32021,
    message: 'This needs a client that can do sampling.',
    data: { requiredCapabilities: { sampling: {} } },
  });
});

test('a failure of the far server does not tell its address', async () => {
  const { near } = await bridgeTo(answering('tools/call', ({ response }) => response.destroy()));
  const result = await near.callTool('echo');
  expect(result.isError).toBe(true);
  expect(result.text()).toBe('The server behind this one is not available; try again later.');
});

test.each(['2026-07-28', '2025-11-25'])(
  'a failed result keeps its structured content, unknown fields and _meta on %s',
  async (protocol) => {
    const result = {
      content: [
        { type: 'text', text: 'no', later: { a: 1 } },
        { type: 'hologram', depth: 3 },
      ],
      structuredContent: { reason: 'ink' },
      isError: true,
      _meta: { 'acme.com/trace': 'x' },
      later: ['y'],
    };
    const { near } = await bridgeTo(
      answering('tools/call', ({ reply }) => reply(result)),
      { near: { protocol } },
    );
    const { raw: got } = await near.callTool('echo');
    expect(got).toMatchObject(result);
  },
);

test('who made a result is the server the client is connected to', async () => {
  const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'hidden', version: '1' } };
  const answer = answering('tools/call', ({ reply }) => reply({ content: [], _meta }));
  for (const protocol of ['2026-07-28', '2025-11-25']) {
    const { near } = await bridgeTo(answer, { near: { protocol } });
    expect((await near.callTool('echo')).json).not.toContain('hidden');
  }
});

test('suggestions arrive as the far server gave them', async () => {
  const completion = { values: ['code'], total: 7, hasMore: true, later: 1 };
  const { near } = await bridgeTo(
    answering('completion/complete', ({ reply }) => reply({ completion, also: 2, _meta: { 'a.b/c': 1 } })),
  );
  const params = { ref: { type: 'ref/prompt', name: 'review' }, argument: { name: 'what', value: 'c' } };
  expect(await near.request('completion/complete', params)).toMatchObject({
    completion,
    also: 2,
    _meta: { 'a.b/c': 1 },
  });
});

test('what is read keeps its unknown fields and _meta', async () => {
  const read = { contents: [{ uri: 'note://a', text: 'x', later: 1 }], also: 2, _meta: { 'a.b/c': 1 } };
  const { near } = await bridgeTo(answering('resources/read', ({ reply }) => reply(read)));
  expect(await near.readResource('note://a')).toMatchObject(read);
});

test('a prompt keeps its unknown fields and _meta', async () => {
  const got = {
    messages: [{ role: 'user', content: { type: 'text', text: 'x', later: 1 }, mood: 'good' }],
    also: 2,
    _meta: { 'a.b/c': 1 },
  };
  const { near } = await bridgeTo(answering('prompts/get', ({ reply }) => reply(got)));
  expect(await near.getPrompt('review')).toMatchObject(got);
});

test('definitions of resources, templates and prompts keep their unknown fields', async () => {
  const { near } = await bridgeTo(standardReading);
  expect(await near.listResources()).toEqual([{ uri: 'note://a', name: 'a', color: 'red' }]);
  expect(await near.listResourceTemplates()).toEqual([
    { uriTemplate: 'note://{id}', name: 'n', color: 'blue' },
  ]);
  expect(await near.listPrompts()).toEqual([
    { name: 'review', color: 'green', arguments: [{ name: 'what', color: 'grey' }] },
  ]);
});

const standardReading = answering('none', () => {});

test.each([
  ['as it came', 'plain'],
  ['where the text beside it is cleaned', 'un\\u0007clean'],
])('a long integer stays whole, %s', async (_how, text) => {
  const result = `{"content":[{"type":"text","text":"${text}","n":${LONG}}],"structuredContent":{"ids":[1,${LONG}]}}`;
  for (const protocol of ['2026-07-28', '2025-11-25']) {
    const { near } = await bridgeTo(
      answering('tools/call', (got) => raw(got, result)),
      { near: { protocol } },
    );
    const { json } = await near.callTool('echo');
    expect(json).toContain(`"structuredContent":{"ids":[1,${LONG}]}`);
    expect(json).toContain(`"n":${LONG}`);
  }
});

test('a long integer among the arguments or in what is read stays whole', async () => {
  const seen: string[] = [];
  const answer = (got: Got): void => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools: [{ ...ECHO, inputSchema: { type: 'object' } }] });
    if (got.body['method'] === 'tools/call') return got.reply({ content: [] });
    return answering('resources/read', (reading) =>
      raw(reading, `{"contents":[{"uri":"note://a","text":"x","size":${LONG}}]}`),
    )(got);
  };
  const { near, upstream } = await bridgeTo(answer, {
    near: { onMessage: (_from, text) => seen.push(text) },
  });
  await near.callTool('echo', { deep: { ids: [BigInt(LONG)] } });
  expect(upstream.got.at(-1)!.text).toContain(`"arguments":{"deep":{"ids":[${LONG}]}}`);
  await near.readResource('note://a');
  expect(seen.at(-1)).toContain(`"size":${LONG}`);
});

const ODD = [
  '"zeta" : [ 1.0, 1e2, -0 ,9007199254740993 ]',
  '"content":[ {"text":"a\\/b \\"c\\" caf\u00e9","type":"text" , "later":{"n":12345678901234567890}} ]',
  '"structuredContent" :{"b":1.50,"a":{ },"big":9007199254740993}',
  '"alpha":null',
];

test.each([
  ['2026-07-28', '2026-07-28'],
  ['2026-07-28', '2025-11-25'],
  ['2025-11-25', '2026-07-28'],
  ['2025-11-25', '2025-11-25'],
])(
  'a client of %s gets each member of a result as a server of %s wrote it, letter by letter',
  async (protocol, farProtocol) => {
    const isModern = farProtocol === '2026-07-28';
    const written = [...ODD, ...(isModern ? ['"resultType":"complete"', '"ttlMs": 5'] : [])];
    const { near } = await bridgeTo(
      (got) => {
        if (!isModern && answerHandshake(got)) return;
        return answering('tools/call', (call) => raw(call, `{ ${written.join(' , ')} }`))(got);
      },
      { near: { protocol }, far: { protocol: farProtocol } },
    );
    const { json, raw: read } = await near.callTool('echo');
    let at = -1;
    for (const member of ODD) {
      expect(json).toContain(member);
      expect(json.indexOf(member)).toBeGreaterThan(at);
      at = json.indexOf(member);
    }
    expect(read['resultType']).toBe(protocol === '2026-07-28' ? 'complete' : undefined);
    expect('ttlMs' in read).toBe(false);
  },
);

test('what came with a _meta keeps it, with the name of the server the client is connected to', async () => {
  const result = '{"_meta":{"acme.com/x": 1.0},"content":[{"type":"text","text":"x"}]}';
  const { near } = await bridgeTo(answering('tools/call', (got) => raw(got, result)));
  const { raw: read, json } = await near.callTool('echo');
  expect(read['_meta']).toMatchObject({ 'acme.com/x': 1 });
  expect(JSON.stringify(read['_meta'])).toContain('serverInfo');
  expect(json).toContain('"content":[{"type":"text","text":"x"}]');
  const old = await bridgeTo(
    answering('tools/call', (got) => raw(got, result)),
    {
      near: { protocol: '2025-11-25' },
    },
  );
  expect((await old.near.callTool('echo')).json).toContain('"_meta":{"acme.com/x": 1.0}');
});

test.each([
  ['line breaks, which end a message on some transports', '{"content":[{"type":"text",\n"text":"x"}]}'],
  ['a mark of failure that is neither yes nor no', '{"content":[{"type":"text","text":"x"}],"isError":"no"}'],
  ['an escape in the name of a member', '{"content":[{"type":"text","text":"x"}],"l\\u0061ter":1}'],
  ['a resource that carries nothing', '{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}'],
  ['no content', '{"structuredContent" : {"a":1}}'],
  ['hidden characters', '{"content":[{"type":"text","text":"x\\u200b"}]}'],
])('a result with %s is written anew', async (_what, result) => {
  for (const protocol of ['2026-07-28', '2025-11-25']) {
    const { near } = await bridgeTo(
      answering('tools/call', (got) => raw(got, result)),
      { near: { protocol } },
    );
    const { json, content } = await near.callTool('echo');
    expect(json).not.toContain(result.slice(1, -1));
    expect(json).not.toContain('\n');
    expect(content.length).toBe(1);
  }
});

test('a result that a stage changed is written anew, whatever came', async () => {
  const { far } = await bridgeTo(
    answering('tools/call', (got) => raw(got, '{"content":[{"type":"text","text":"far"}],"a" : 1}')),
  );
  const stage: Stage = {
    name: 'change',
    wrap: (_tool, next) => async (call) => {
      const result = await next(call);
      return result.kind === 'done' ? { ...result, content: [{ type: 'text', text: 'near' }] } : result;
    },
  };
  const near = await open(await serveSource(withStages(far, [stage]), { log: () => {} }));
  const { json } = await near.callTool('echo');
  expect(json).toContain('near');
  expect(json).not.toContain('far');
  expect(json).toContain('"a":1');
});
