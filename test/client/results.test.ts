import { expect, test } from 'vitest';
import {
  connect,
  filterByAudience,
  InvalidArguments,
  parseSseMessages,
  PermissionDenied,
  RemoteError,
  resolveLinks,
  toAgentError,
  ToolNotFound,
  trimByPriority,
  type ContentBlock,
} from '../../src/index.ts';
import { ECHO, makeUp, open, standard } from './peers.ts';

/** A client of a server that answers every call alike. */
async function answering(result: object, options = {}): Promise<Awaited<ReturnType<typeof open>>> {
  const server = await makeUp((got) =>
    got.body['method'] === 'tools/call' ? got.reply(result) : standard(got),
  );
  return open(server.url, options);
}

/** A client of a server that refuses every call alike. */
async function refusing(
  code: number,
  message: string,
  data?: unknown,
): Promise<Awaited<ReturnType<typeof open>>> {
  const server = await makeUp((got) =>
    got.body['method'] === 'tools/call' ? got.refuse(code, message, { data }) : standard(got),
  );
  return open(server.url);
}

test('a resource block without contents is accepted (000-17)', async () => {
  const block = { type: 'resource', resource: { uri: 'file:///report.pdf', mimeType: 'application/pdf' } };
  const client = await answering({ content: [block] }, { checkResults: 'strict' });
  expect((await client.callTool('echo')).content).toEqual([block]);
});

const blocks: readonly ContentBlock[] = [
  { type: 'text', text: 'for everybody' },
  { type: 'text', text: 'for the person', annotations: { audience: ['user'], priority: 0 } },
  { type: 'text', text: 'for the model', annotations: { audience: ['assistant'], priority: 1 } },
];

test('blocks can be filtered by their audience (002-12)', () => {
  expect(filterByAudience(blocks, 'assistant')).toEqual([blocks[0], blocks[2]]);
  expect(filterByAudience(blocks, 'user')).toEqual([blocks[0], blocks[1]]);
});

test('blocks that do not fit are left out, the least important first, and required blocks stay (002-13)', () => {
  const room = JSON.stringify(blocks[2]).length + JSON.stringify(blocks[0]).length;
  expect(trimByPriority(blocks, room)).toEqual([blocks[0], blocks[2]]);
  expect(trimByPriority(blocks, 0)).toEqual([blocks[2]]);
});

test('links are read from the server they came from, and links that cannot be read stay', async () => {
  const links: ContentBlock[] = ['note://a', 'note://b'].map((uri) => ({
    type: 'resource_link',
    uri,
    name: uri,
  }));
  const readResource = async (uri: string): Promise<Record<string, unknown>> => {
    if (uri === 'note://b') throw new Error('gone');
    return { contents: [{ uri, text: 'sunny' }] };
  };
  expect(await resolveLinks(links, { readResource })).toEqual([
    { type: 'resource', resource: { uri: 'note://a', text: 'sunny' } },
    links[1],
  ]);
});

test('links for others, or of little importance, stay, and each address is read once, a few at a time', async () => {
  const link = (uri: string, annotations?: object): ContentBlock => ({
    type: 'resource_link',
    uri,
    name: uri,
    ...(annotations && { annotations }),
  });
  const links = [
    link('note://a', { priority: 0.9, audience: ['assistant'] }),
    link('note://b', { priority: 0.9, audience: ['user'] }),
    link('note://c', { priority: 0.6 }),
    link('note://empty', { priority: 1 }),
  ];
  let [underWay, most] = [0, 0];
  const asked: string[] = [];
  const readResource = async (uri: string): Promise<Record<string, unknown>> => {
    asked.push(uri);
    most = Math.max(most, ++underWay);
    await Promise.resolve();
    underWay--;
    return { contents: uri === 'note://empty' ? [] : [{ uri, text: 'sunny' }] };
  };
  const options = { audience: 'assistant', minPriority: 0.7 } as const;
  const read = { type: 'resource', resource: { uri: 'note://a', text: 'sunny' } };
  expect(await resolveLinks(links, { readResource }, options)).toEqual([
    { ...read, annotations: links[0]!.annotations },
    ...links.slice(1),
  ]);
  expect(asked).toEqual(['note://a', 'note://empty']);

  const many = Array.from({ length: 200 }, (_, index) => link(`note://${index % 100}`));
  const resolved = await resolveLinks(many, { readResource });
  expect(resolved.every(({ type }) => type === 'resource')).toBe(true);
  expect([asked.length, most]).toEqual([102, 8]);
});

test('a caller that gives up gets no links that only look as if they could not be read', async () => {
  const caller = AbortSignal.abort(new Error('enough'));
  const readResource = async (_uri: string, { signal }: { signal?: AbortSignal } = {}): Promise<never> => {
    throw signal!.reason as Error;
  };
  const links: ContentBlock[] = [{ type: 'resource_link', uri: 'note://a', name: 'a' }];
  await expect(resolveLinks(links, { readResource }, { signal: caller })).rejects.toThrow('enough');
});

test('a result that breaks the output schema causes a warning, or an error in strict mode (002-25, 004-23)', async () => {
  const tool = {
    ...ECHO,
    outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  };
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools: [tool], ttlMs: 60_000, cacheScope: 'private' });
    if (got.body['method'] !== 'tools/call') return standard(got);
    return got.reply({ content: [], structuredContent: { n: 'seven' } });
  });
  const lenient = await open(server.url);
  const warnings: string[] = [];
  lenient.on('warning', (text) => warnings.push(text));
  await lenient.callTool('echo');
  expect(warnings).toEqual(['The result of "echo" breaks its output schema: n: must be of type number.']);
  const strict = await open(server.url, { checkResults: 'strict' });
  await expect(strict.callTool('echo')).rejects.toMatchObject({ code: 'invalid_answer' });
});

test('a remote schema reference is never fetched, and the arguments are left for the server to check', async () => {
  let fetched = 0;
  const elsewhere = await makeUp(({ response }) => {
    fetched++;
    response.end('{}');
  });
  const inputSchema = { type: 'object', properties: { text: { $ref: elsewhere.url } } };
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools: [{ ...ECHO, inputSchema }], ttlMs: 60_000, cacheScope: 'private' });
    return got.body['method'] === 'tools/call' ? got.reply({ content: [] }) : standard(got);
  });
  const client = await open(server.url);
  expect((await client.callTool('echo', { text: 1 })).content).toEqual([]);
  expect(fetched).toBe(0);
});

test.each([
  [-32003, 'whatever', undefined],
  [-32601, 'Method not found', undefined],
  [-32602, 'Unknown tool: echo', undefined],
  [-32602, 'No.', { reason: 'tool_not_found' }],
])('the error %i (%s) means that there is no such tool (003-41)', async (code, message, data) => {
  const client = await refusing(code, message, data);
  const failure: unknown = await client.callTool('echo').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ToolNotFound);
  expect(toAgentError(failure)).toEqual({ error: 'Tool not found: echo' });
});

test('an agent is told of an unknown tool by that number alone, however the call was sent (003-41)', async () => {
  const client = await refusing(-32003, 'Unknown tool: echo');
  const failure: unknown = await client
    .request('tools/call', { name: 'echo' })
    .catch((error: unknown) => error);
  expect(toAgentError(failure)).toEqual({ error: 'Tool not found: echo' });
});

test('the error -32602 means that the arguments are invalid (003-42)', async () => {
  const client = await refusing(-32602, 'text is too long');
  const failure: unknown = await client.callTool('echo').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(InvalidArguments);
  expect(toAgentError(failure)).toEqual({ error: 'Invalid arguments: text is too long' });
});

test('any other error is shown to an agent as a failed execution (003-43)', async () => {
  const client = await refusing(-32000, 'disk full');
  const failure: unknown = await client.callTool('echo').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RemoteError);
  expect(toAgentError(failure)).toEqual({ error: 'Tool execution failed: disk full' });
  expect(toAgentError(new Error('odd'))).toEqual({ error: 'Tool execution failed: odd' });
});

test('a refused credential is a "permission denied" error (003-40)', async () => {
  const server = await makeUp((got) => void got.response.writeHead(403).end());
  await expect(connect(server.url)).rejects.toBeInstanceOf(PermissionDenied);
});

test('the reason of a refusal is kept, and it is a "permission denied" error all the same (003-40)', async () => {
  const server = await makeUp((got) =>
    got.body['method'] === 'tools/call' ? got.refuse(-32001, 'Not today.', { status: 403 }) : standard(got),
  );
  const client = await open(server.url);
  const failure: unknown = await client.callTool('echo').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(PermissionDenied);
  expect(failure).toMatchObject({ message: expect.stringMatching(/\/mcp refuses this: Not today\.$/) });
});

test('an older server that refuses only what it does not know gets a handshake, whatever status that has', async () => {
  const asked: unknown[] = [];
  const server = await makeUp(({ body, ...got }) => {
    asked.push(body['method']);
    const serverInfo = { name: 'old', version: '1' };
    if (body['method'] === 'initialize')
      got.reply({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo });
    else if (body['id'] === undefined) got.response.writeHead(202).end();
    else got.refuse(-32601, 'No such method.', { status: 403 });
  });
  const client = await open(server.url);
  expect(client.server).toMatchObject({ era: 'legacy', info: { name: 'old' } });
  expect(asked).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
});

test('a header that cannot be sent is named, and its value is not shown', async () => {
  const failure = connect('http://127.0.0.1:1/mcp', { headers: { authorization: 'Bearer secret\n' } });
  await expect(failure).rejects.toMatchObject({
    code: 'invalid_setup',
    message: 'The header "authorization" holds a character that cannot be sent, such as the end of a line.',
  });
});

test('a server that needs a sign-in causes an error that says so, with a remedy', async () => {
  const server = await makeUp((got) => void got.response.writeHead(401).end());
  await expect(connect(server.url)).rejects.toMatchObject({
    code: 'needs_sign_in',
    remedy: 'Sign in, or give a credential.',
  });
});

test('the messages of an event stream can be read without a client (001-58)', async () => {
  const text =
    ': hello\r\nid: 7\r\nevent: message\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata: {"b":"ü"}\n\nevent: other\ndata: x\n\n';
  const bytes = new TextEncoder().encode(text);
  // However the bytes are cut, the messages are the same.
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    const messages: unknown[] = [];
    for await (const message of parseSseMessages(ReadableStream.from(parts))) messages.push(message);
    expect(messages).toEqual([{ a: 1 }, { b: 'ü' }]);
  }
});

test('trace context and other members of _meta are sent with a call', async () => {
  const server = await makeUp((got) =>
    got.body['method'] === 'tools/call' ? got.reply({ content: [] }) : standard(got),
  );
  const client = await open(server.url, { trace: () => ({ traceparent: '00-1-2-01' }) });
  await client.callTool('echo', {}, { meta: { 'com.example/x': 1 } });
  expect(server.got.at(-1)!.body).toMatchObject({
    params: {
      _meta: {
        traceparent: '00-1-2-01',
        'com.example/x': 1,
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      },
    },
  });
});

test('arguments are repeated in headers where a schema asks for it, and a tool with an invalid request for it is left out', async () => {
  const schema = (header: unknown): object => ({
    type: 'object',
    properties: {
      owner: { type: 'string', 'x-mcp-header': header },
      n: { type: 'integer', 'x-mcp-header': 'Count' },
    },
  });
  const tools = [
    { ...ECHO, inputSchema: schema('Owner') },
    { ...ECHO, name: 'bad', inputSchema: schema('no good') },
  ];
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools, ttlMs: 60_000, cacheScope: 'private' });
    return got.body['method'] === 'tools/call' ? got.reply({ content: [] }) : standard(got);
  });
  const client = await open(server.url);
  expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo']);
  await client.callTool('echo', { owner: 'Zoë', n: 7 });
  expect(server.got.at(-1)!.request.headers).toMatchObject({
    'mcp-method': 'tools/call',
    'mcp-name': 'echo',
    'mcp-param-owner': `=?base64?${Buffer.from('Zoë').toString('base64')}?=`,
    'mcp-param-count': '7',
  });
});
