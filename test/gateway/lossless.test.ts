import { expect, test } from 'vitest';
import { RemoteError, withStages, type Stage } from '../../src/index.ts';
import { merge } from '../../src/core/merge.ts';
import { Secrets } from '../../src/observe/secrets.ts';
import { sanitize } from '../../src/stages.ts';
import { cleanDefinitions } from '../../src/stages/cleaning/clean-definitions.ts';
import { definitionDigest } from '../../src/core/definition-digest.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { ECHO, makeUp, open, serveSource, standard, type Got } from '../client/peers.ts';
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

test("an error with a code of the upstream's own is passed on with all its members, cleaned", async () => {
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

test('an upstream’s error about invalid parameters stays an error with its message', async () => {
  const { near } = await bridgeTo(
    answering('tools/call', ({ refuse }) => refuse(-32602, 'Too much of it.', { data: { most: 3 } })),
  );
  const { remote } = await failureOf(near.request('tools/call', { name: 'echo', arguments: {} }));
  expect(remote).toEqual({ code: -32602, message: 'Too much of it.', data: { most: 3 } });
});

test.each([-32020, -32021, -32022])(
  'the error %i concerns the connection to the upstream, so the client gets an internal error',
  async (code) => {
    const { near } = await bridgeTo(
      answering('tools/call', ({ refuse }) => refuse(code, 'Not so.', { data: { requested: 'x' } })),
    );
    const { remote } = await failureOf(near.callTool('echo'));
    expect(remote['code']).toBe(-32603);
    expect(JSON.stringify(remote)).not.toContain('Not so');
  },
);

test('a capability that the upstream requires of the client is named in our own words', async () => {
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

test('an error of the upstream does not contain its address', async () => {
  const { near } = await bridgeTo(answering('tools/call', ({ response }) => response.destroy()));
  const result = await near.callTool('echo');
  expect(result.isError).toBe(true);
  expect(result.text()).toBe('The server behind this one is not available; try again later.');
});

test('an upstream that refuses the credential is not named by its address either', async () => {
  const { near } = await bridgeTo(
    answering('tools/call', ({ refuse }) => refuse(-32001, 'No.', { status: 403 })),
  );
  const failure: unknown = await near.callTool('echo').then(
    (result) => result.text(),
    (error: unknown) => String(error),
  );
  expect(failure).toContain('does not accept the connection as it is set up');
  expect(failure).not.toContain('127.0.0.1');
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

test('the server info in a result names the gateway, not the upstream', async () => {
  const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'hidden', version: '1' } };
  const answer = answering('tools/call', ({ reply }) => reply({ content: [], _meta }));
  for (const protocol of ['2026-07-28', '2025-11-25']) {
    const { near } = await bridgeTo(answer, { near: { protocol } });
    expect((await near.callTool('echo')).json).not.toContain('hidden');
  }
});

test('completions arrive as the upstream sent them', async () => {
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

test('the contents of a resource keep their unknown fields and _meta', async () => {
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
])('a long integer keeps all its digits, %s', async (_how, text) => {
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

test('a long integer in arguments or in resource contents keeps all its digits', async () => {
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
  'a client of %s gets each member of a result byte for byte as a server of %s wrote it',
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

test('a result with _meta keeps it, with the server info of the gateway', async () => {
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
])('a result with %s is encoded again', async (_what, result) => {
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

const LONG_TEXT = 'a long text, '.repeat(100);

test.each([
  ['is not looked at', 'unseen', 'far'],
  ['is looked at by a stage', 'seen', 'far'],
  ['is changed by a stage', 'changed', 'near'],
])('a long text that %s reaches the client whole', async (_how, how, origin) => {
  const far = `{"content": [{"type":"text","text":"far ${LONG_TEXT}\\u00fc"}],"structuredContent":{"t" :"${LONG_TEXT}"}}`;
  const upstream = await bridgeTo(answering('tools/call', (got) => raw(got, far)));
  const looked: unknown[] = [];
  const stage: Stage = {
    name: 'look',
    wrap: (_tool, next) => async (call) => {
      const result = await next(call);
      if (how === 'unseen' || result.kind !== 'done') return result;
      looked.push(result.content, result.data);
      return how === 'seen' ? result : { ...result, content: [{ type: 'text', text: `near ${LONG_TEXT}ü` }] };
    },
  };
  const near = await open(await serveSource(withStages(upstream.far, [stage]), { log: () => {} }));
  const { json, structuredContent, content } = await near.callTool('echo');
  expect(content).toEqual([{ type: 'text', text: `${origin} ${LONG_TEXT}ü` }]);
  expect(structuredContent).toEqual({ t: LONG_TEXT });
  expect(json.includes(`"structuredContent":{"t" :`)).toBe(how !== 'changed');
  if (how !== 'unseen')
    expect(looked).toEqual([[{ type: 'text', text: `far ${LONG_TEXT}ü` }], { t: LONG_TEXT }]);
});

test('a result that a stage changed is encoded again', async () => {
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

const MOST = '9223372036854775807';
const ASKED_FOR = `{"type":"object","properties":{"n":{"type":"integer","maximum":${MOST}}}}`;
const LONG_LISTS: Readonly<Record<string, string>> = {
  'tools/list': `"tools":[{"name":"echo","inputSchema":${ASKED_FOR},"outputSchema":{"type":"array","items":{"minimum":-${MOST}}},"size":${LONG},"_meta":{"a.b/c":${LONG}}}]`,
  'resources/list': `"resources":[{"uri":"note://a","name":"a","size":${LONG},"later":[${LONG}]}]`,
  'resources/templates/list': `"resourceTemplates":[{"uriTemplate":"note://{id}","name":"n","later":${LONG}}]`,
  'prompts/list': `"prompts":[{"name":"review","arguments":[{"name":"what","most":${LONG}}],"_meta":{"a.b/c":${LONG}}}]`,
};

/** Answers with lists that hold long integers, and the rest as the function does. */
function listingLong(answer: (got: Got) => void = standardReading): (got: Got) => void {
  return (got) => {
    const list = LONG_LISTS[String(got.body['method'])];
    if (list === undefined) answer(got);
    else raw(got, `{${list},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`);
  };
}

test.each(['2026-07-28', '2025-11-25'])(
  'a long integer in a definition keeps all its digits on %s',
  async (protocol) => {
    const seen: string[] = [];
    const { near } = await bridgeTo(listingLong(), {
      near: { protocol, onMessage: (_from, text) => seen.push(text) },
    });
    const [tool] = await near.listTools();
    expect(tool!.inputSchema['properties']).toEqual({ n: { type: 'integer', maximum: Number(MOST) } });
    expect(seen.at(-1)).toContain(`"inputSchema":${ASKED_FOR}`);
    expect(seen.at(-1)).toContain(`"items":{"minimum":-${MOST}}`);
    expect(seen.at(-1)).toContain(`"size":${LONG}`);
    expect(seen.at(-1)).toContain(`"a.b/c":${LONG}`);
    await near.listResources();
    expect(seen.at(-1)).toContain(`"size":${LONG}`);
    expect(seen.at(-1)).toContain(`"later":[${LONG}]`);
    await near.listResourceTemplates();
    expect(seen.at(-1)).toContain(`"later":${LONG}`);
    await near.listPrompts();
    expect(seen.at(-1)).toContain(`"most":${LONG}`);
    expect(seen.at(-1)).toContain(`"a.b/c":${LONG}`);
  },
);

test('the command line prints long integers of a result with all their digits, over several lines, too', async () => {
  const { url } = await makeUp(
    answering('tools/call', (got) => raw(got, `{"content":[],\n"structuredContent":{"n":${LONG}}}`)),
  );
  const plain = await runCommandLine(['call', url, 'echo']);
  expect(plain.output).toContain(`"n": ${LONG}`);
  const { output } = await runCommandLine(['call', url, 'echo', '--json']);
  expect(output).toBe(`{"content":[],"structuredContent":{"n":${LONG}}}\n`);
}, 60_000);

test('two definitions that differ only in the last digit of a long integer are two definitions', async () => {
  let last = 7;
  const { far } = await bridgeTo((got) => {
    if (got.body['method'] !== 'tools/list') return standard(got);
    const schema = ASKED_FOR.replace(MOST, `${MOST.slice(0, -1)}${last}`);
    raw(got, `{"tools":[{"name":"echo","inputSchema":${schema}}],"ttlMs":0,"cacheScope":"private"}`);
  });
  const digestNow = async (): Promise<string> => definitionDigest((await far.find('echo'))!);
  const before = await digestNow();
  expect(await digestNow()).toBe(before);
  last = 6;
  expect(await digestNow()).not.toBe(before);
});

test('the command line prints long integers of definitions with all their digits', async () => {
  const { url } = await makeUp(listingLong());
  for (const [words, expected] of [
    [['list'], `"maximum": ${MOST}`],
    [['list', 'echo'], `"maximum": ${MOST}`],
    [['read'], `"size": ${LONG}`],
    [['prompt'], `"most": ${LONG}`],
  ] as const) {
    const [command, ...rest] = words;
    const { output } = await runCommandLine([command, url, ...rest, '--json']);
    expect(output).toContain(expected);
  }
}, 60_000);

test('a secret inside a long integer stays out of the definitions that are listed', async () => {
  const upstream = await bridgeTo(listingLong());
  const secrets = new Secrets();
  secrets.add(MOST.slice(1, -1));
  const source = withStages(merge({ far: upstream.far }), [cleanDefinitions(secrets)]);
  const seen: string[] = [];
  const near = await open(await serveSource(source), { onMessage: (_from, text) => seen.push(text) });
  await near.listTools();
  expect(seen.at(-1)).toContain(LONG);
  expect(seen.at(-1)).not.toContain(MOST.slice(1, -1));
});

test('a secret inside a long integer stays out of results', async () => {
  const secrets = new Secrets();
  secrets.add(MOST.slice(1, -1));
  const result = `{"content":[{"type":"text","text":"x","n":${MOST}}],"structuredContent":{"ids":[${MOST},${LONG}]}}`;
  const upstream = await bridgeTo(answering('tools/call', (got) => raw(got, result)));
  const source = withStages(upstream.far, [sanitize({}, { secrets })]);
  const near = await open(await serveSource(source, { log: () => {} }));
  const { json } = await near.callTool('echo');
  expect(json).toContain(LONG);
  expect(json).not.toContain(MOST.slice(1, -1));
});

/** Answers with this text as the error, letter by letter. */
function rawError({ body, response }: Got, error: string): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(`{"jsonrpc":"2.0","id":${String(body['id'])},"error":${error}}`);
}

test.each([
  ['as it came', 'No ink.', `"data":{"ids":[${LONG}]},"hint":${LONG}`],
  ['where its text is cleaned', 'No\\u0007 ink.', `"data":{"ids":[${LONG}]},"hint":${LONG}`],
  ['where its data is a list', 'No ink.', `"data":[${LONG}]`],
])('a long integer in an error keeps all its digits, %s', async (_how, message, facts) => {
  for (const protocol of ['2026-07-28', '2025-11-25']) {
    const seen: string[] = [];
    const error = `{"code":4711,"message":"${message}",${facts}}`;
    const { near } = await bridgeTo(
      answering('tools/call', (got) => rawError(got, error)),
      { near: { protocol, onMessage: (_from, text) => seen.push(text) } },
    );
    await failureOf(near.callTool('echo'));
    for (const fact of facts.split(/,(?="hint)/)) expect(seen.at(-1)).toContain(fact);
  }
});

test('a long integer in the error of a missing resource keeps all its digits', async () => {
  const seen: string[] = [];
  const missing = `{"code":-32002,"message":"Gone.","data":{"uri":"note://a","since":${LONG}}}`;
  const { near } = await bridgeTo(
    answering('resources/read', (got) => rawError(got, missing)),
    { near: { onMessage: (_from, text) => seen.push(text) } },
  );
  await failureOf(near.readResource('note://a'));
  expect(seen.at(-1)).toContain(`"since":${LONG}`);
});

test('a long integer in the error of a failed task keeps all its digits', async () => {
  const seen: string[] = [];
  const task = '"taskId":"t","createdAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":1';
  const failed = `{${task},"status":"failed","error":{"code":4711,"message":"No.","data":{"n":${LONG}}}}`;
  const { near } = await bridgeTo(
    (got) => {
      if (got.body['method'] === 'tasks/get') return raw(got, failed);
      if (got.body['method'] !== 'tools/call') return standard(got);
      return raw(got, `{"resultType":"task",${task},"status":"working"}`);
    },
    { near: { tasks: false, onMessage: (_from, text) => seen.push(text) } },
  );
  await failureOf(near.callTool('echo'));
  expect(seen.at(-1)).toContain(`"n":${LONG}`);
});

test('a secret inside a long integer stays out of errors', async () => {
  const secrets = new Secrets();
  secrets.add(MOST.slice(1, -1));
  const seen: string[] = [];
  const { far } = await bridgeTo(
    answering('tools/call', (got) =>
      rawError(got, `{"code":4711,"message":"No.","data":{"n":[${MOST},${LONG}]}}`),
    ),
  );
  const source = withStages(far, [sanitize({}, { secrets })]);
  const near = await open(await serveSource(source, { log: () => {} }), {
    onMessage: (_from, text) => seen.push(text),
  });
  await failureOf(near.callTool('echo'));
  expect(seen.at(-1)).toContain(LONG);
  expect(seen.at(-1)).not.toContain(MOST.slice(1, -1));
});

const LONG_FORM = `{"mode":"form","message":"How many?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":${MOST}}}},"later":${LONG}}`;
const LONG_PROMPT = `{"messages":[],"maxTokens":9,"metadata":{"run":${LONG}}}`;
const handlers = {
  form: () => ({ action: 'accept' as const, content: { n: 1 } }),
  sample: () => ({ role: 'assistant' as const, content: { type: 'text', text: 'x' }, model: 'm' }),
};

test.each([
  ['2026-07-28', '2026-07-28'],
  ['2026-07-28', '2025-11-25'],
  ['2025-11-25', '2026-07-28'],
  ['2025-11-25', '2025-11-25'],
])(
  'a long integer in a question keeps all its digits for a client of %s from a server of %s',
  async (protocol, farProtocol) => {
    for (const [method, params, parts] of [
      ['elicitation/create', LONG_FORM, [`"maximum":${MOST}`, `"later":${LONG}`]],
      ['sampling/createMessage', LONG_PROMPT, [`"run":${LONG}`]],
    ] as const) {
      const seen: string[] = [];
      const { near } = await bridgeTo(askingOnce(farProtocol, `"method":"${method}","params":${params}`), {
        near: { protocol, tasks: false, handlers, onMessage: (_from, text) => seen.push(text) },
        far: { protocol: farProtocol },
      });
      expect(await near.callTool('echo').text()).toBe('thanks');
      const asked = seen.find((text) => text.includes(method));
      for (const part of parts) expect(asked).toContain(part);
    }
  },
);

/** Asks one question in the first call, as a server of this revision does. */
function askingOnce(protocol: string, question: string): (got: Got) => void {
  const done = '{"content":[{"type":"text","text":"thanks"}],"resultType":"complete"}';
  let waiting: Got | undefined;
  return (got) => {
    const { body, response } = got;
    if (protocol === '2026-07-28') {
      if (body['method'] !== 'tools/call') return standard(got);
      if ('inputResponses' in (body['params'] as object)) return raw(got, done);
      return raw(got, `{"resultType":"input_required","inputRequests":{"q":{${question}}}}`);
    }
    if (body['id'] === 'q1' && waiting) {
      const answer = `{"jsonrpc":"2.0","id":${String(waiting.body['id'])},"result":${done}}`;
      waiting.response.end(`data: ${answer}\n\n`);
      response.writeHead(202).end();
      return;
    }
    if (answerHandshake(got)) return;
    if (body['method'] !== 'tools/call') return standard(got);
    waiting = got;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: {"jsonrpc":"2.0","id":"q1",${question}}\n\n`);
  };
}

test.each(['2026-07-28', '2025-11-25'])(
  'a long integer in progress and in a log entry keeps all its digits on %s',
  async (protocol) => {
    const seen: string[] = [];
    const { near } = await bridgeTo(
      (got) => {
        if (got.body['method'] !== 'tools/call') return standard(got);
        const { response, body } = got;
        const { _meta } = body['params'] as { _meta: { progressToken: unknown } };
        const say = (text: string): unknown => response.write(`data: {"jsonrpc":"2.0",${text}}\n\n`);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const token = JSON.stringify(_meta.progressToken);
        say(
          `"method":"notifications/progress","params":{"progressToken":${token},"progress":${LONG},"total":${MOST}}`,
        );
        say(`"method":"notifications/message","params":{"level":"info","data":{"id":${LONG}}}`);
        say(`"id":${String(body['id'])},"result":{"content":[],"resultType":"complete"}`);
        response.end();
      },
      { near: { protocol, logLevel: 'debug', onMessage: (_from, text) => seen.push(text) } },
    );
    await near.callTool('echo', {}, { onProgress: () => {} });
    expect(seen.find((text) => text.includes('notifications/progress'))).toContain(
      `"progress":${LONG},"total":${MOST}`,
    );
    expect(seen.find((text) => text.includes('notifications/message'))).toContain(`"data":{"id":${LONG}}`);
  },
);

test('a long integer keeps all its digits in the questions, the result and the error of a task', async () => {
  const task = '"taskId":"t","createdAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":1';
  for (const end of [
    `"status":"completed","result":{"content":[],"structuredContent":{"n":${LONG}}}`,
    `"status":"failed","error":{"code":4711,"message":"No.","data":{"n":${LONG}}}`,
  ]) {
    const seen: string[] = [];
    let isAnswered = false;
    const asks = `"status":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":${LONG_FORM}}}`;
    const { near } = await bridgeTo(
      (got) => {
        switch (got.body['method']) {
          case 'tools/call':
            return raw(got, `{"resultType":"task",${task},"status":"working"}`);
          case 'tasks/get':
            return raw(got, `{${task},${isAnswered ? end : asks}}`);
          case 'tasks/update':
            isAnswered = true;
            return raw(got, '{}');
          default:
            return standard(got);
        }
      },
      { near: { handlers, onMessage: (_from, text) => seen.push(text) } },
    );
    const ended: unknown = await near.callTool('echo').then(
      ({ json }) => json,
      (error: unknown) => error,
    );
    expect(seen.find((text) => text.includes('inputRequests'))).toContain(`"maximum":${MOST}`);
    expect(seen.at(-1)).toContain(`"n":${LONG}`);
    if (ended instanceof RemoteError) expect(ended.number).toBe(4711);
    else expect(ended).toContain(`"structuredContent":{"n":${LONG}}`);
  }
}, 30_000);
