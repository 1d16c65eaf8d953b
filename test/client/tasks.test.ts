import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client as SdkClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import {
  CallToolAsTaskRequestV1Schema,
  CancelTaskRequestV1Schema,
  GetTaskRequestV1Schema,
  GetTaskResultRequestV1Schema,
  ListTasksRequestV1Schema,
} from '@modelcontextprotocol/ext-tasks/core/v1';
import {
  isCancelTaskRequestV2,
  isCreateTaskResultV2,
  isDetailedTaskV2,
  isGetTaskRequestV2,
} from '@modelcontextprotocol/ext-tasks/core/v2';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Cancelled, defineTool, type Client, type HttpOptions } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { makeUp, open, said, serve } from './peers.ts';

const fixture = join(import.meta.dirname, 'fixtures/task-server.mjs');

type Message = Readonly<Record<string, unknown>>;

/** What was said in both directions. */
interface Heard {
  readonly sent: Message[];
  readonly came: Message[];
  readonly options: Pick<HttpOptions, 'onMessage'>;
}

function listening(): Heard {
  const [sent, came]: [Message[], Message[]] = [[], []];
  return {
    sent,
    came,
    options: {
      onMessage: (from, text) => void (from === 'client' ? sent : came).push(JSON.parse(text) as Message),
    },
  };
}

// One program for all: it takes longer to start than everything it is asked for.
const old = listening();
let client: Client;

beforeAll(async () => {
  client = await connectStdio(process.execPath, [fixture], { protocol: 'legacy', ...old.options });
});

afterAll(() => client.close());

beforeEach(() => void old.sent.splice(0));

/** The states of all tasks of the old server, by id. */
async function oldStates(): Promise<ReadonlyMap<string, string>> {
  const { tasks } = (await client.request('tasks/list', {})) as {
    tasks: { taskId: string; status: string }[];
  };
  return new Map(tasks.map(({ taskId, status }) => [taskId, status]));
}

test('a tool of 2025-11-25 that runs only as a task is followed to its end', async () => {
  expect(await client.callTool('slow', { text: 'well' }).text()).toBe('done: well');
  const tasks = old.sent.filter(({ method }) => /^(?:tasks\/|tools\/call)/.test(String(method)));
  expect(tasks.map(({ method }) => method)).toEqual(['tools/call', 'tasks/get', 'tasks/result']);
  const schemas = [CallToolAsTaskRequestV1Schema, GetTaskRequestV1Schema, GetTaskResultRequestV1Schema];
  for (const [at, schema] of schemas.entries()) expect(schema.safeParse(tasks[at]).error).toBeUndefined();
});

test('a task of 2025-11-25 that failed has a failed result', async () => {
  expect(await client.callTool('broken')).toMatchObject({ isError: true });
});

test('a task of 2025-11-25 can be controlled by its handle, listed and cancelled', async () => {
  const task = await client.startTask('endless');
  expect(await task.state()).toMatchObject({ taskId: task.id, status: 'working' });
  expect((await oldStates()).get(task.id)).toBe('working');
  await task.cancel();
  expect(await task.state()).toMatchObject({ status: 'cancelled' });
  await expect(task.result()).rejects.toMatchObject({ code: 'cancelled' });
  const request = (name: string): Message | undefined => old.sent.find(({ method }) => method === name);
  expect(CancelTaskRequestV1Schema.safeParse(request('tasks/cancel')).error).toBeUndefined();
  expect(ListTasksRequestV1Schema.safeParse(request('tasks/list')).error).toBeUndefined();
});

test('a tool of 2025-11-25 that may run as a task does so on request, and other tools refuse it', async () => {
  expect(await (await client.startTask('either')).result()).toMatchObject({ isError: false });
  await expect(client.startTask('plain')).rejects.toMatchObject({ code: 'missing_capability' });
  expect(await client.callTool('plain').text()).toBe('at once');
  const calls = old.sent.filter(({ method }) => method === 'tools/call');
  expect(calls.map(({ params }) => 'task' in (params as object))).toEqual([true, false]);
});

test('aborting a call whose task is running cancels the task at the server', async () => {
  const stop = new AbortController();
  const call = client.callTool('endless', {}, { signal: stop.signal });
  const working = async (): Promise<string | undefined> =>
    [...(await oldStates())].find(([, status]) => status === 'working')?.[0];
  await expect.poll(working).toBeDefined();
  const id = (await working())!;
  stop.abort();
  await expect(call).rejects.toBeInstanceOf(Cancelled);
  await expect.poll(async () => (await oldStates()).get(id)).toBe('cancelled');
});

const slow = defineTool({ name: 'slow', description: 'Takes its time.' }, async (_args, { detach }) => {
  detach();
  return 'done at last';
});

const endless = defineTool(
  { name: 'endless', description: 'Never ends.' },
  async (_args, { detach, signal }) => {
    detach();
    await once(signal, 'abort');
  },
);

test('the task messages of 2026-07-28 are valid for the official package, in both directions', async () => {
  const heard = listening();
  const modern = await open(await serve([slow, endless]), heard.options);
  expect(await modern.callTool('slow').text()).toBe('done at last');
  const held = await modern.startTask('endless');
  await held.cancel();
  const sent = (name: string): Message[] => heard.sent.filter(({ method }) => method === name);
  expect([sent('tasks/get').length > 0, sent('tasks/get').every(isGetTaskRequestV2)]).toEqual([true, true]);
  expect(sent('tasks/cancel').map(isCancelTaskRequestV2)).toEqual([true]);
  const results = heard.came.flatMap(({ result }) => (result === undefined ? [] : [result as Message]));
  const made = results.filter(({ resultType }) => resultType === 'task');
  expect(made.map(isCreateTaskResultV2)).toEqual([true, true]);
  const states = results.filter(({ resultType, taskId }) => resultType !== 'task' && taskId !== undefined);
  expect([states.length > 0, states.every(isDetailedTaskV2)]).toEqual([true, true]);
});

test('the official package calls a tool of our server that becomes a task', async () => {
  const url = await serve([slow]);
  const sdk = new SdkClient({ name: 'peer', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await sdk.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => sdk.close());
  const extensions = { 'io.modelcontextprotocol/tasks': {} };
  const session = createTaskSessionFromClient(sdk, {
    endpointId: 'ours',
    rawDispatch: (request) => dispatch(url, request as Message) as never,
    v2RequestFraming: {
      protocolVersion: '2026-07-28',
      clientInfo: { name: 'peer', version: '1' },
      clientCapabilities: { extensions },
    },
  });
  onTestFinished(() => session.close());
  const { outcome } = await (await session.callTool('slow', {})).settle();
  expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ type: 'text', text: 'done at last' }] });
});

async function dispatch(url: string, request: Message): Promise<unknown> {
  const { method, params } = request as { method: string; params: { name?: string; taskId?: string } };
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': params.name ?? params.taskId ?? '',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), ...request }),
    signal: AbortSignal.timeout(10_000),
  });
  return answer.json();
}

test('a task is followed on where a connection was closed while it was looked at', async () => {
  let looks = 0;
  const at = '2026-11-01T00:00:00Z';
  const task = {
    taskId: 'one',
    status: 'working',
    createdAt: at,
    lastUpdatedAt: at,
    ttlMs: null,
    pollIntervalMs: 50,
  };
  const made = await makeUp(({ body, reply, request }) => {
    if (body['method'] === 'tools/call') return reply({ ...task, resultType: 'task' });
    if (body['method'] !== 'tasks/get') return false;
    if (++looks === 2) return void request.socket.destroy();
    return reply(looks === 1 ? task : { ...task, status: 'completed', result: said('done') });
  });
  const follower = await open(made.url);
  expect(await follower.callTool('echo').text()).toBe('done');
  expect(looks).toBe(3);
});
