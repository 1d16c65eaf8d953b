import { expect, test } from 'vitest';
import { createServer, defineTool, localCaller, ToolRegistry, type JsonRpcMessage } from '../../src/index.ts';
import { ada } from './matrix.ts';
import { modernMeta } from './peer.ts';

const getUser = defineTool(
  { name: 'get_user', description: 'Names the caller.' },
  (_args, { caller, progress }) => {
    progress(1);
    return { user: caller.id };
  },
);
const server = createServer({ source: new ToolRegistry().registerTool(getUser) });
const message = (method: string, params: object, id?: number): JsonRpcMessage => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  method,
  params,
});

test('a JSON-RPC request given to the server object gets its response without any transport (001-74)', async () => {
  const answer = await server.handle(message('tools/call', { name: 'get_user' }, 1), { caller: localCaller });
  expect(answer).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      content: [{ type: 'text', text: '{\n  "user": "local"\n}' }],
      structuredContent: { user: 'local' },
      isError: false,
    },
  });
});

test('the program sets the caller of an in-process request (001-74)', async () => {
  const answer = await server.handle(message('tools/call', { name: 'get_user' }, 1), { caller: ada });
  expect(answer).toMatchObject({ result: { structuredContent: { user: 'ada' } } });
});

test('each in-process request names its own protocol revision (001-74)', async () => {
  const modern = await server.handle(message('tools/list', { _meta: modernMeta() }, 1), { caller: ada });
  const legacy = await server.handle(message('tools/list', {}, 1), { caller: ada });
  expect(modern).toMatchObject({ result: { resultType: 'complete' } });
  expect(legacy).not.toHaveProperty('result.resultType');
});

test('a notification gets no response', async () => {
  expect(await server.handle(message('notifications/initialized', {}), { caller: ada })).toBeUndefined();
});

test('an object that is not a JSON-RPC message is refused', async () => {
  const answer = await server.handle({ jsonrpc: '2.0', id: 4 }, { caller: ada });
  expect(answer).toMatchObject({ id: 4, error: { code: -32600 } });
});

test('a call whose signal was aborted before it began is not run', async () => {
  let made = false;
  const act = defineTool({ name: 'act', description: 'Acts.' }, () => {
    made = true;
  });
  const acting = createServer({ source: new ToolRegistry().registerTool(act) });
  const options = { caller: ada, signal: AbortSignal.abort() };
  expect(await acting.handle(message('tools/call', { name: 'act' }, 1), options)).toBeUndefined();
  expect(made).toBe(false);
});

test('after a call its abort signal has no listeners left', async () => {
  const { signal } = new AbortController();
  const listening = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (type: string, listener: never, options: never) => {
    listening.add(listener);
    addEventListener.call(signal, type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: never) => {
    listening.delete(listener);
    removeEventListener.call(signal, type, listener);
  };
  await server.handle(message('tools/call', { name: 'get_user' }, 1), { caller: ada, signal });
  expect(listening.size).toBe(0);
});

test.each([
  ['no source', {}],
  ['a source that lists nothing', { source: {} }],
  ['a deadline of zero', { source: new ToolRegistry(), deadlineMs: 0 }],
  ['an endless page', { source: new ToolRegistry(), pageSize: Infinity }],
  ['a body of no bytes', { source: new ToolRegistry(), maxBodyBytes: -1 }],
])('createServer refuses %s', (_what, options) => {
  expect(() => createServer(options as never)).toThrow(expect.objectContaining({ code: 'invalid_setup' }));
});

test('an in-process message without options has the local process as its caller (001-74)', async () => {
  const source = new ToolRegistry().registerTool(
    defineTool({ name: 'who', description: 'Tells who calls.' }, (_args, { caller }) => caller.id),
  );
  const params = { name: 'who', arguments: {}, _meta: modernMeta() };
  const answer = await createServer({ source }).handle({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params,
  });
  expect(answer).toMatchObject({ id: 1, result: { content: [{ type: 'text', text: 'local' }] } });
});
