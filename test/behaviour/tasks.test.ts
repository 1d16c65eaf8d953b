import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  defineTool,
  ToolcribError,
  ToolRegistry,
  withStages,
  type TaskRecord,
  type Tool,
  type ToolSource,
  createInMemory,
} from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { deferred } from './deferred.ts';
import type { Answer, Json } from './peer.ts';
import {
  askModern,
  describeDoors,
  EventReader,
  openSession,
  sendModern,
  type Door,
  type Person,
} from './session-client.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const capabilities = { elicitation: {}, extensions: { [EXTENSION]: {} } };
const yes = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } as const;
const accept = (ok: unknown) => ({ action: 'accept', content: { ok } });

/** A tool that becomes a task at once and ends as the test says. */
function job(work: Tool['handler'], definition: { requires?: ['tasks'] } = {}): Tool {
  return defineTool({ name: 'job', description: 'Works on.', ...definition }, async (args, context) => {
    context.detach();
    return work(args, context);
  });
}

/** A source whose stage fails when the tool is done. */
function failing(tool: Tool, error: ToolcribError): ToolSource {
  return withStages(new ToolRegistry().registerTool(tool), [
    {
      name: 'failing',
      wrap: (_tool, next) => async (call) => {
        await next(call);
        throw error;
      },
    },
  ]);
}

function start(door: Door, as: Person = 'ada'): Promise<Answer> {
  return askModern(door, ['tools/call', { name: 'job', arguments: {} }], { capabilities, as });
}

async function startTask(door: Door, as: Person = 'ada'): Promise<string> {
  const { result } = await start(door, as);
  expect(result).toMatchObject({ resultType: 'task' });
  return result['taskId'] as string;
}

function about(door: Door, [method, params]: readonly [string, Json], as: Person = 'ada'): Promise<Answer> {
  return askModern(door, [`tasks/${method}`, params], { capabilities, as });
}

/** The task once it is in a state. */
async function reached(door: Door, taskId: string, status: string): Promise<Json> {
  for (;;) {
    const { result } = await about(door, ['get', { taskId }]);
    if (result['status'] === status) return result;
    await setImmediate();
  }
}

describeDoors((open) => {
  test('a call that detaches is answered with a task, and its result is read with the task', async () => {
    const release = deferred<string>();
    const clock = createFakeClock(Date.UTC(2026, 6, 28));
    const door = await open({ tools: [job(() => release.promise)], clock });
    const { result } = await start(door);
    expect(result).toEqual({
      resultType: 'task',
      taskId: expect.stringMatching(/^[\w-]{22}$/) as string,
      status: 'working',
      createdAt: '2026-07-28T00:00:00.000Z',
      lastUpdatedAt: '2026-07-28T00:00:00.000Z',
      ttlMs: 3_600_000,
      pollIntervalMs: 500,
      _meta: expect.any(Object) as object,
    });
    const taskId = result['taskId'] as string;
    expect((await about(door, ['get', { taskId }])).result).toEqual({ ...result, resultType: 'complete' });

    clock.advance(1_000);
    release.resolve('finished');
    const done = await reached(door, taskId, 'completed');
    expect(done).toMatchObject({
      resultType: 'complete',
      lastUpdatedAt: '2026-07-28T00:00:01.000Z',
      result: { resultType: 'complete', content: [{ type: 'text', text: 'finished' }] },
    });
    expect(done).not.toHaveProperty('error');
    expect(done).not.toHaveProperty('inputRequests');
  });

  test('a result marked as an error completes the task; a protocol error fails it', async () => {
    const broken = job(async () => {
      throw new ToolcribError('tool_failed', 'The printer is on fire.');
    });
    const door = await open({ tools: [broken] });
    const completed = await reached(door, await startTask(door), 'completed');
    expect(completed).toMatchObject({
      result: { isError: true, content: [{ text: 'The printer is on fire.' }] },
    });

    const refusal = new ToolcribError('invalid_params', 'There is no such page.', { data: { page: 7 } });
    const other = await open({
      source: failing(
        job(async () => {}),
        refusal,
      ),
    });
    const failed = await reached(other, await startTask(other), 'failed');
    expect(failed).toMatchObject({
      error: { code: -32602, message: 'There is no such page.', data: { page: 7 } },
    });
    expect(failed).not.toHaveProperty('result');
  });

  test('A9 a task is for its caller alone: foreign, invented and expired ids get the same response', async () => {
    const signals: AbortSignal[] = [];
    const clock = createFakeClock();
    const wait = job(async (_args, { signal }) => {
      signals.push(signal);
      await new Promise(() => {});
    });
    const door = await open({ tools: [wait], clock });
    const expired = await startTask(door);
    clock.advance(3_600_001);
    const taskId = await startTask(door);
    const errors = new Set<string>();
    for (const method of ['get', 'update', 'cancel']) {
      const extra = method === 'update' ? { inputResponses: {} } : {};
      const attempts: [string, Person][] = [
        [taskId, 'bob'],
        [taskId, 'eve'],
        ['invented', 'ada'],
        [expired, 'ada'],
      ];
      for (const [id, as] of attempts) {
        const { error } = await about(door, [method, { taskId: id, ...extra }], as);
        expect(error.code).toBe(-32602);
        errors.add(JSON.stringify(error));
      }
    }
    expect(errors.size).toBe(1);
    expect((await about(door, ['get', { taskId }])).result).toMatchObject({ status: 'working' });
    expect(signals[1]!.aborted).toBe(false);
  });

  test('a client that did not declare the extension gets no task, and the task methods are unknown to it', async () => {
    const door = await open({ tools: [job(async () => 'in its own time')] });
    const call = ['tools/call', { name: 'job', arguments: {} }] as const;
    expect((await askModern(door, call)).result).toMatchObject({
      resultType: 'complete',
      content: [{ text: 'in its own time' }],
    });
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const response = await sendModern(door, [method, { taskId: 'x' }]);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: { extensions: { [EXTENSION]: {} } } } },
      });
    }
    const needing = await open({ tools: [job(async () => 'never', { requires: ['tasks'] })] });
    const refused = await sendModern(needing, call);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: -32021 } });
  });

  test('clients of the handshake revisions get the result when the call has ended', async () => {
    const session = await openSession(await open({ tools: [job(async () => 'done')] }), { capabilities });
    expect(await session.answer('tools/call', { name: 'job', task: { ttl: 1 } })).toMatchObject({
      result: { content: [{ text: 'done' }] },
    });
    expect(await session.answer('tasks/get', { taskId: 'x' })).toMatchObject({ error: { code: -32601 } });
  });

  test('there is no method to list tasks or to wait for a result', async () => {
    const door = await open({ tools: [job(async () => 'done')] });
    for (const method of ['list', 'result'])
      expect((await about(door, [method, { taskId: 'x' }])).error.code).toBe(-32601);
    expect((await about(door, ['get', {}])).error.code).toBe(-32602);
  });

  test('questions of a task are kept in the task and answered with tasks/update, one by one or together', async () => {
    const asks = job(async (_args, { elicit }) => {
      const answers = await Promise.all([
        elicit({ key: 'first', message: 'First?', schema: yes }),
        elicit({ key: 'second', message: 'Second?', schema: yes }),
      ]);
      const again = await elicit({ key: 'third', message: 'Really?', schema: yes });
      return JSON.stringify([...answers, again]);
    });
    const door = await open({ tools: [asks] });
    const taskId = await startTask(door);
    const update = async (inputResponses: Json): Promise<void> => {
      const { result } = await about(door, ['update', { taskId, inputResponses }]);
      expect(result).toEqual({ resultType: 'complete', _meta: expect.any(Object) as object });
    };
    const keys = async () => {
      const { inputRequests } = await reached(door, taskId, 'input_required');
      return Object.keys(inputRequests as Json);
    };

    expect(await reached(door, taskId, 'input_required')).toMatchObject({
      inputRequests: {
        first: { method: 'elicitation/create', params: { message: 'First?' } },
        second: { method: 'elicitation/create', params: { message: 'Second?' } },
      },
    });
    await update({ second: accept(true), unknown: accept(true) });
    expect(await keys()).toEqual(['first']);
    // An invalid answer, or one from another caller, changes nothing.
    await update({ first: accept('perhaps') });
    await update({ second: accept(false) });
    await about(door, ['update', { taskId, inputResponses: { first: accept(false) } }], 'bob');
    expect(await keys()).toEqual(['first']);
    await update({ first: accept(false) });

    let asked = await keys();
    while (asked.includes('first')) asked = await keys();
    expect(asked).toEqual(['third']);
    await update({ first: accept(false) });
    expect(await keys()).toEqual(['third']);
    await update({ third: { action: 'decline' } });
    const { result } = await reached(door, taskId, 'completed');
    expect(JSON.parse((result as { content: [{ text: string }] }).content[0].text)).toEqual([
      accept(false),
      accept(true),
      { action: 'decline' },
    ]);
    await update({ third: accept(true) });
    expect(await reached(door, taskId, 'completed')).toMatchObject({ result });
  });

  test('questions before a call detaches are rounds of the request, and the task begins after them', async () => {
    let runs = 0;
    const release = deferred();
    const asks = defineTool({ name: 'job', description: 'Asks, then works.' }, async (_args, context) => {
      runs++;
      const answer = await context.elicit({ key: 'sure', message: 'Sure?', schema: yes });
      context.detach();
      await release.promise;
      return answer.action;
    });
    const door = await open({ tools: [asks] });
    const { result: question } = await start(door);
    expect(question).toMatchObject({
      resultType: 'input_required',
      inputRequests: { sure: { method: 'elicitation/create' } },
    });
    const { requestState } = question;
    const retry = { name: 'job', arguments: {}, requestState, inputResponses: { sure: accept(true) } };
    const { result } = await askModern(door, ['tools/call', retry], { capabilities, id: 2 });
    expect(result).toMatchObject({ resultType: 'task', status: 'working' });
    release.resolve();
    expect(await reached(door, result['taskId'] as string, 'completed')).toMatchObject({
      result: { content: [{ text: 'accept' }] },
    });
    expect(runs).toBe(2);
  });

  test('tasks/cancel stops the call; cancelling a task that has ended is acknowledged and changes nothing', async () => {
    const started = deferred<AbortSignal>();
    const wait = job(async (_args, { signal, elicit }) => {
      started.resolve(signal);
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      // A handler that does not take no for an answer.
      await elicit({ message: 'Still there?', schema: yes }).catch(() => {});
      return 'too late';
    });
    const door = await open({ tools: [wait] });
    const taskId = await startTask(door);
    const signal = await started.promise;
    expect((await about(door, ['cancel', { taskId }])).result).toMatchObject({ resultType: 'complete' });
    expect(signal.aborted).toBe(true);
    await setImmediate();
    expect((await about(door, ['get', { taskId }])).result).toMatchObject({ status: 'cancelled' });
    expect((await about(door, ['cancel', { taskId }])).result).toMatchObject({ resultType: 'complete' });
    expect((await about(door, ['get', { taskId }])).result).toMatchObject({ status: 'cancelled' });
  });

  test('a task may run longer than a request, up to its own lifetime, and is removed after it', async () => {
    const clock = createFakeClock();
    const signals: AbortSignal[] = [];
    const wait = job(async (_args, { signal }) => {
      signals.push(signal);
      await new Promise(() => {});
    });
    const door = await open({ tools: [wait], clock, deadlineMs: 30_000 });
    const taskId = await startTask(door);
    clock.advance(3_599_000);
    expect((await about(door, ['get', { taskId }])).result).toMatchObject({ status: 'working' });
    expect(signals[0]!.aborted).toBe(false);
    clock.advance(1_001);
    expect(signals[0]!.aborted).toBe(true);
    expect((await about(door, ['get', { taskId }])).error).toMatchObject({ code: -32602 });
  });

  test('a client that disconnects after it got the task handle does not cancel the task', async () => {
    const release = deferred();
    const started = deferred<AbortSignal>();
    const wait = defineTool({ name: 'job', description: 'Works.' }, async (_args, context) => {
      context.progress(1);
      context.detach();
      started.resolve(context.signal);
      await release.promise;
      return 'finished';
    });
    const door = await open({ tools: [wait] });
    const params = { name: 'job', arguments: {}, _meta: { progressToken: 'p' } };
    const stream = new EventReader(await sendModern(door, ['tools/call', params], { capabilities }));
    const messages = await stream.until((message) => 'result' in message);
    const { taskId } = messages.at(-1)!.result as { taskId: string };
    await stream.hangUp();
    await setImmediate();
    const signal = await started.promise;
    expect(signal.aborted).toBe(false);
    release.resolve();
    expect(await reached(door, taskId, 'completed')).toMatchObject({
      result: { content: [{ text: 'finished' }] },
    });
  });

  test('only the owner of a task is notified of each of its states', async () => {
    const started = deferred();
    const asks = job(async (_args, { elicit }) => {
      await started.promise;
      const answer = await elicit({ key: 'sure', message: 'Sure?', schema: yes });
      return answer.action;
    });
    const door = await open({ tools: [asks] });
    const taskId = await startTask(door);
    const listen = async (taskIds: string[], as: Person): Promise<EventReader> => {
      const request = ['subscriptions/listen', { notifications: { taskIds } }] as const;
      const stream = new EventReader(await sendModern(door, request, { capabilities, as, id: `for ${as}` }));
      expect((await stream.message()).message).toMatchObject({ params: { notifications: { taskIds } } });
      return stream;
    };
    const mine = await listen([taskId], 'ada');
    const others = [
      await listen(['another'], 'ada'),
      await listen([taskId], 'bob'),
      await listen([taskId], 'eve'),
    ];
    started.resolve();
    await reached(door, taskId, 'input_required');
    await about(door, ['update', { taskId, inputResponses: { sure: { action: 'decline' } } }]);
    await reached(door, taskId, 'completed');
    door.server.close();

    const told = (await mine.rest()).map(({ data }) => JSON.parse(data!) as Json);
    expect(told).toMatchObject([
      {
        method: 'notifications/tasks',
        params: {
          taskId,
          status: 'input_required',
          inputRequests: { sure: { method: 'elicitation/create' } },
          _meta: { 'io.modelcontextprotocol/subscriptionId': 'for ada' },
        },
      },
      { method: 'notifications/tasks', params: { taskId, status: 'working' } },
      {
        method: 'notifications/tasks',
        params: {
          taskId,
          status: 'completed',
          result: { resultType: 'complete', content: [{ text: 'decline' }] },
          ttlMs: 3_600_000,
        },
      },
      { id: 'for ada', result: { resultType: 'complete' } },
    ]);
    for (const stream of others) {
      const heard = (await stream.rest()).map(({ data }) => JSON.parse(data!) as Json);
      expect(heard).toMatchObject([{ result: { resultType: 'complete' } }]);
    }
  });

  test('a cancelled and a failed task are announced as well', async () => {
    const release = deferred();
    const wait = job(() => release.promise);
    const door = await open({ source: failing(wait, new ToolcribError('internal', 'Broken down.')) });
    const taskIds = [await startTask(door), await startTask(door)];
    const request = ['subscriptions/listen', { notifications: { taskIds } }] as const;
    const stream = new EventReader(await sendModern(door, request, { capabilities }));
    await stream.message();
    await about(door, ['cancel', { taskId: taskIds[0] }]);
    expect((await stream.message()).message).toMatchObject({
      params: { taskId: taskIds[0], status: 'cancelled' },
    });
    release.resolve();
    expect((await stream.message()).message).toMatchObject({
      params: { taskId: taskIds[1], status: 'failed', error: { code: -32603, message: 'Broken down.' } },
    });
  });

  test('tasks are stored in the memory that the server was given, in order however slow it is', async () => {
    const records = new Map<string, TaskRecord>();
    const kept: string[] = [];
    let turns = 8;
    const memory = {
      ...createInMemory(createFakeClock()),
      tasks: {
        async put(record: TaskRecord) {
          // Each write is faster than the one before it.
          for (let turn = turns--; turn > 0; turn--) await setImmediate();
          records.set(record.id, record);
          kept.push(record.status);
        },
        async get(id: string) {
          await setImmediate();
          return records.get(id);
        },
      },
    };
    const asks = job(async (_args, { elicit }) => {
      const answer = await elicit({ key: 'sure', message: 'Sure?', schema: yes });
      return answer.action;
    });
    const door = await open({ tools: [asks], memory });
    const taskId = await startTask(door);
    await reached(door, taskId, 'input_required');
    await about(door, ['update', { taskId, inputResponses: { sure: { action: 'cancel' } } }]);
    await reached(door, taskId, 'completed');
    expect(kept).toEqual(['working', 'input_required', 'working', 'completed']);
    expect(records.get(taskId)).toMatchObject({ owner: '4:acme/ada', status: 'completed' });
  });
});
