import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  InvalidArguments,
  RemoteError,
  ToolExecutionError,
  ToolNotFound,
} from '../../src/index.ts';
import { ECHO, makeUp, open, said, serve, standard } from './peers.ts';

const add = defineTool(
  {
    name: 'add',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.object({ sum: z.number() }),
  },
  ({ a, b }, { progress }) => {
    progress(1, 2);
    progress(2, 2, 'almost');
    return { sum: a + b };
  },
);

describe.each(['auto', '2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
  'a client that asks for %s',
  (protocol) => {
    test('lists and calls the tools of a server (000-10, 000-11, 003-29)', async () => {
      const client = await open(await serve([add]), { protocol });
      expect(client.state).toEqual({ kind: 'connected' });
      expect((await client.listTools()).map(({ name }) => name)).toEqual(['add']);
      const result = await client.callTool('add', { a: 1, b: 2 });
      expect(JSON.parse(result.text())).toEqual({ sum: 3 });
      expect(await client.callTool('add', { a: 2, b: 2 }).data()).toEqual({ sum: 4 });
    });

    test('gets progress', async () => {
      const client = await open(await serve([add]), { protocol });
      const seen: number[] = [];
      await client.callTool('add', { a: 1, b: 2 }, { onProgress: ({ progress }) => seen.push(progress) });
      expect(seen).toEqual([1, 2]);
    });

    test('names the tool that does not exist (003-36)', async () => {
      const client = await open(await serve([add]), { protocol });
      const failure = client.callTool('subtract');
      await expect(failure).rejects.toBeInstanceOf(ToolNotFound);
      await expect(failure).rejects.toMatchObject({ tool: 'subtract', code: 'unknown_tool' });
    });
  },
);

test('arguments that break the schema are refused before they are sent (003-18, 003-33, 003-37)', async () => {
  const server = await makeUp(() => false);
  const client = await open(server.url);
  await client.listTools();
  const before = server.got.length;
  const failure = client.callTool('echo', { text: 7 });
  await expect(failure).rejects.toBeInstanceOf(InvalidArguments);
  await expect(failure).rejects.toThrow('text: must be of type string');
  expect(server.got.length).toBe(before);
});

test('a request of any method can be sent, and its result is returned unchanged (003-28)', async () => {
  const server = await makeUp(({ body, reply }) => {
    if (body['method'] !== 'acme/status') return false;
    return reply({ lights: { on: 3 }, params: body['params'] });
  });
  const client = await open(server.url);
  const result = await client.request('acme/status', { verbose: true });
  expect(result).toMatchObject({ lights: { on: 3 }, params: { verbose: true } });
});

test('data is the structured content, or else the first text parsed as JSON (001-09)', async () => {
  const answers = [
    { content: [{ type: 'text', text: '{"from":"text"}' }], structuredContent: { from: 'structure' } },
    { content: [{ type: 'text', text: '{"from":"text"}' }] },
  ];
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return false;
    return got.reply(answers.shift()!);
  });
  const client = await open(server.url);
  expect(await client.callTool('echo').data<{ from: string }>()).toEqual({ from: 'structure' });
  expect(await client.callTool('echo').data()).toEqual({ from: 'text' });
});

test('unwrap throws for isError and for a top-level error in the data (001-61, 003-34, 003-35, 003-38)', async () => {
  const answers = [
    { content: [{ type: 'text', text: 'no disk' }], isError: true },
    { content: [{ type: 'text', text: '{"error":"no paper"}' }] },
    { content: [{ type: 'text', text: 'fine' }] },
  ];
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return false;
    return got.reply(answers.shift()!);
  });
  const client = await open(server.url);
  await expect(client.callTool('echo').unwrap()).rejects.toThrow(ToolExecutionError);
  await expect(client.callTool('echo').unwrap()).rejects.toMatchObject({
    name: 'ToolExecutionFailed',
    message: 'no paper',
  });
  expect((await client.callTool('echo').unwrap()).text()).toBe('fine');
});

test("an error with a code of the server's own is passed on with all its members", async () => {
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return false;
    got.response.writeHead(200, { 'content-type': 'application/json' });
    const error = { code: 4711, message: 'Out of ink.', data: [1, 2], hint: 'refill' };
    return got.response.end(JSON.stringify({ jsonrpc: '2.0', id: got.body['id'], error })) && undefined;
  });
  const client = await open(server.url);
  const failure: unknown = await client.callTool('echo').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RemoteError);
  expect(failure).toMatchObject({
    number: 4711,
    message: 'Out of ink.',
    remote: { data: [1, 2], hint: 'refill' },
  });
});

test('a result keeps unknown members and integers too large for a number', async () => {
  const text =
    '{"resultType":"complete","content":[{"type":"hologram","depth":3}],"structuredContent":{"id":9007199254740993},"later":{"x":1}}';
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    got.response.writeHead(200, { 'content-type': 'application/json' });
    got.response.end(`{"jsonrpc":"2.0","id":${String(got.body['id'])},"result":${text}}`);
  });
  const client = await open(server.url);
  const result = await client.callTool('echo');
  expect(result.json).toBe(text);
  expect(result.raw).toMatchObject({ later: { x: 1 }, content: [{ type: 'hologram', depth: 3 }] });
  expect(result.data({ exact: true })).toEqual({ id: 9007199254740993n });
});

test('integers of any size are sent unchanged, checked, and repeated in headers', async () => {
  const properties = {
    id: { type: 'integer', 'x-mcp-header': 'Id' },
    parts: { type: 'array', items: { type: 'integer', maximum: 9e15 } },
  };
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list')
      return got.reply({ tools: [{ ...ECHO, inputSchema: { type: 'object', properties } }] });
    if (got.body['method'] !== 'tools/call') return standard(got);
    got.reply(said(got.text));
  });
  const client = await open(server.url);
  expect(await client.callTool('echo', { id: 9007199254740993n }).text()).toContain(
    '{"id":9007199254740993}',
  );
  expect(server.got.at(-1)!.request.headers['mcp-param-id']).toBe('9007199254740993');
  await expect(client.callTool('echo', { parts: [9007199254740993n] })).rejects.toThrow('parts[0]');
});
