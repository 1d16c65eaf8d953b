import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { localCaller, type Caller } from '../../src/core/caller.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { TASKS_EXTENSION } from '../../src/core/requirement.ts';
import { withStages } from '../../src/core/stage.ts';
import { defineTool } from '../../src/core/tool.ts';
import { createServer, type JsonRpcMessage, type Server } from '../../src/server/create-server.ts';
import { textOf, type Answer } from '../../src/server/answer.ts';
import { createLink } from '../../src/server/link.ts';
import type { Headers } from '../../src/protocol/wire/headers.ts';
import { createAccess } from '../../src/stages/access/authorize.ts';

const SAMPLES = 10_000;
const WARM_UP = 1_500;
const SIGNIFICANT = 4.5;
const ATTEMPTS = 5;
const caller = { ...localCaller };
// Hers are asked for by him.
const owner = { ...localCaller, id: 'ada' };
const stranger = { ...localCaller, id: 'bob' };

// Names of one length, so that they differ in nothing but whether there is such a tool.
const hidden = call('secret_tool');
const unknown = call('absent_tool');

let server: Server;

beforeAll(async () => {
  const { byName } = await createAccess([{ tools: ['open_*'] }]);
  const registry = new ToolRegistry();
  for (const name of ['open_tool', 'secret_tool'])
    registry.registerTool(defineTool({ name, description: 'Does something.' }, () => 'done'));
  registry.registerTool(
    defineTool({ name: 'open_task', description: 'Becomes a task.' }, (_args, { detach, signal }) => {
      detach();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    }),
  );
  const requestsPerMinute = 1_000_000_000;
  server = createServer({ source: withStages(registry, [byName]), requestsPerMinute, log: () => {} });
});

afterAll(() => server.close());

test('E5 the time of a refusal does not reveal whether a tool is hidden or does not exist', async () => {
  expect(await smallest(() => compare(ask([hidden, unknown])))).toBeLessThan(SIGNIFICANT);
});

test('E5 control: a difference of two microseconds is noticed', async () => {
  const slow = (side: Side): void => (side === 0 ? waste(2_000n) : undefined);
  expect(await smallest(() => compare(ask([unknown, unknown]), slow))).toBeGreaterThan(SIGNIFICANT);
});

test.each(['ping', 'tools/call'])(
  'E5 %s on a session of another caller gets the response for an unknown session, just as fast',
  async (method) => {
    const ids = [await openSession(owner), randomUUID()] as const;
    expect((await onSession(ids[0], owner, method)).status).toBe(200);
    const [foreign, never] = await Promise.all(ids.map((id) => onSession(id, stranger, method)));
    expect(foreign).toEqual({ status: 404, body: expect.stringContaining('There is no such session') });
    expect(foreign).toEqual(never);
    const both = (side: Side): Promise<Said> => onSession(ids[side], stranger, method);
    expect(await smallest(() => compare(both))).toBeLessThan(SIGNIFICANT);
  },
);

test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
  'E5 %s of a task of another caller gets the response for an unknown task, just as fast',
  async (method) => {
    const ids = [await openTask(owner), randomBytes(16).toString('base64url')] as const;
    const [foreign, never] = await Promise.all(ids.map((id) => onTask(id, stranger, method)));
    expect(foreign).toMatchObject({ error: { message: 'There is no such task.' } });
    expect(withoutId(foreign, ids[0])).toBe(withoutId(never, ids[1]));
    const both = (side: Side): Promise<unknown> => onTask(ids[side], stranger, method);
    expect(await smallest(() => compare(both))).toBeLessThan(SIGNIFICANT);
    expect(await onTask(ids[0], owner, 'tasks/get')).toMatchObject({ result: { status: 'working' } });
  },
);

test('E5 control: a difference of two microseconds is noticed for sessions and for tasks', async () => {
  const slow = (side: Side): void => (side === 0 ? waste(2_000n) : undefined);
  const [session, task] = [randomUUID(), randomBytes(16).toString('base64url')];
  const sessions = (): Promise<unknown> => onSession(session, stranger, 'ping');
  expect(await smallest(() => compare(sessions, slow))).toBeGreaterThan(SIGNIFICANT);
  const tasks = (): Promise<unknown> => onTask(task, stranger, 'tasks/get');
  expect(await smallest(() => compare(tasks, slow))).toBeGreaterThan(SIGNIFICANT);
});

function request(method: string, params: object): JsonRpcMessage {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { [TASKS_EXTENSION]: {} } },
  };
  return { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } };
}

function call(name: string): JsonRpcMessage {
  return request('tools/call', { name, arguments: {} });
}

interface Said {
  readonly status: number;
  readonly body: string;
}

// The way a message takes behind the sign-in of every HTTP transport.
async function send(as: Caller, message: object, headers: Headers): Promise<Answer> {
  const link = { ...createLink(as, () => {}), headers };
  return server.exchange.answer(Buffer.from(JSON.stringify(message)), link);
}

async function openSession(as: Caller): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const { headers } = await send(as, { jsonrpc: '2.0', id: 1, method: 'initialize', params }, {});
  const id = headers!['mcp-session-id']!;
  await send(as, { jsonrpc: '2.0', method: 'notifications/initialized' }, { 'mcp-session-id': id });
  return id;
}

async function onSession(id: string, as: Caller, method: string): Promise<Said> {
  const params = { name: 'open_tool', arguments: {} };
  const answer = await send(as, { jsonrpc: '2.0', id: 1, method, params }, { 'mcp-session-id': id });
  return { status: answer.status, body: textOf(answer.body ?? '') };
}

async function openTask(as: Caller): Promise<string> {
  const answer = await server.handle(call('open_task'), { caller: as });
  return (answer as unknown as { result: { taskId: string } }).result.taskId;
}

function onTask(taskId: string, as: Caller, method: string): Promise<unknown> {
  return server.handle(request(method, { taskId, inputResponses: {} }), { caller: as });
}

function withoutId(answer: unknown, id: string): string {
  return JSON.stringify(answer).replaceAll(id, '<id>');
}

function waste(nanoseconds: bigint): void {
  const until = process.hrtime.bigint() + nanoseconds;
  while (process.hrtime.bigint() < until);
}

/** The smallest difference of a few attempts, since the machine is busy; a real difference shows in all of them. */
async function smallest(attempt: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let count = 0; count < ATTEMPTS && least >= SIGNIFICANT; count++)
    least = Math.min(least, await attempt());
  return least;
}

type Side = 0 | 1;

function ask(messages: readonly [JsonRpcMessage, JsonRpcMessage]): (side: Side) => Promise<unknown> {
  return (side) => server.handle(messages[side], { caller });
}

/** How significantly two answers differ in time: the size of Welch's t. */
async function compare(
  answer: (side: Side) => Promise<unknown>,
  before: (side: Side) => void = () => undefined,
): Promise<number> {
  const times: [number[], number[]] = [[], []];
  for (let sample = -WARM_UP; sample < SAMPLES; sample++) {
    // Both are asked in each round, so that a busy moment slows both, and chance decides which goes first.
    const order = Math.random() < 0.5 ? ([0, 1] as const) : ([1, 0] as const);
    for (const side of order) {
      const start = process.hrtime.bigint();
      before(side);
      await answer(side);
      if (sample >= 0) times[side].push(Number(process.hrtime.bigint() - start));
    }
  }
  return welch(trim(times[0]), trim(times[1]));
}

// The slowest hundredth is what the collector and other processes took.
function trim(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b).slice(0, Math.floor(times.length * 0.99));
}

function welch(a: readonly number[], b: readonly number[]): number {
  const [left, right] = [spread(a), spread(b)];
  return Math.abs(left.mean - right.mean) / Math.sqrt(left.error + right.error);
}

function spread(values: readonly number[]): { readonly mean: number; readonly error: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { mean, error: variance / values.length };
}
