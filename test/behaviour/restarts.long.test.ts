import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defineTool, type Tool } from '../../src/index.ts';
import { admitAll, openCrib, readRows, type Crib, type Holder } from '../gateway.ts';
import { prepare } from '../served.ts';
import { firstFew } from '../property-runs.ts';
import { cli, startNode, type Child } from './child.ts';
import { deferred } from './deferred.ts';
import {
  askModern,
  EventReader,
  openSession,
  sendOverSocket,
  SessionClient,
  type Door,
  type Person,
} from './session-client.ts';

const keyOf: Readonly<Record<Person, Holder>> = { ada: 'ada', bob: 'bob', eve: 'other ada' };

/** The way into a server that may have another address after a restart. */
function doorTo(server: { readonly url: string; readonly keys: Crib['keys'] }): Pick<Door, 'send'> {
  return {
    send: (request) => {
      const as = request.headers!['authorization']!.slice('Bearer '.length) as Person;
      const headers = { ...request.headers, authorization: `Bearer ${server.keys[keyOf[as]]}` };
      return sendOverSocket(server.url, { ...request, headers });
    },
  };
}

/** A tool that reports four steps, the later ones when it is let. */
function steps(): { readonly tool: Tool; readonly go: () => void } {
  const go = deferred();
  const tool = defineTool({ name: 'work', description: 'Works step by step.' }, async (_args, context) => {
    context.progress(1, 4);
    await go.promise;
    for (const step of [2, 3, 4]) context.progress(step, 4);
    return 'all done';
  });
  return { tool, go: () => go.resolve() };
}

/** Calls the tool, and hangs up after its first report; the answer is the id of that event. */
async function dropAfterFirst(session: SessionClient, id = 'call-7'): Promise<string> {
  const reader = new EventReader(await session.call('work', {}, id));
  const first = await reader.message();
  await reader.hangUp();
  return first.id!;
}

/** What is left after an event, up to the end of the stream. */
async function restAfter(session: SessionClient, eventId: string): Promise<unknown[]> {
  return (await (await session.stream(eventId)).rest()).map(({ data }) => {
    const message = JSON.parse(data!) as { id?: unknown; params?: { progress: number }; result?: object };
    return message.params?.progress ?? [message.id, message.result];
  });
}

const answer = ['call-7', { content: [{ type: 'text', text: 'all done' }] }];

test.each(firstFew(['2025-11-25', '2025-06-18', '2025-03-26'], 1))(
  'on %s a client gets the messages it missed after a restart, the response included, and then the stream ends',
  async (version) => {
    const { tool, go } = steps();
    const crib = await openCrib({ offers: [tool] });
    const session = await openSession(doorTo(crib), { version });
    const seen = await dropAfterFirst(session);
    go();
    const before = await restAfter(session, seen);
    expect(before).toMatchObject([2, 3, 4, answer]);

    for (let restart = 0; restart < 2; restart++) {
      await crib.restart();
      expect(await restAfter(session, seen)).toEqual(before);
    }
    const events = await (await session.stream(seen)).rest();
    expect(await restAfter(session, events[2]!.id!)).toEqual(before.slice(3));
    // With everything sent, a client is told to stop coming back, as it is without a restart.
    expect((await session.get({ 'last-event-id': events[3]!.id! })).status).toBe(405);
  },
);

test('a call that ends during shutdown, after its client disconnected, has its response after the restart', async () => {
  const { tool, go } = steps();
  const crib = await openCrib({ offers: [tool], config: { server: { drainSeconds: 10 } } });
  const session = await openSession(doorTo(crib));
  const seen = await dropAfterFirst(session);
  const restarted = crib.restart();
  await expect.poll(() => fetch(crib.url).catch(() => 'gone'), { timeout: 5_000 }).toBe('gone');
  go();
  await restarted;
  expect(await restAfter(session, seen)).toMatchObject([2, 3, 4, answer]);
});

test('a task that ends during shutdown has its result after the restart', async () => {
  const go = deferred<string>();
  const tool = defineTool({ name: 'work', description: 'Goes on.' }, async (_args, { detach }) => {
    detach();
    return go.promise;
  });
  const crib = await openCrib({ offers: [tool], config: { server: { drainSeconds: 10 } } });
  const door = doorTo(crib) as Door;
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const call = ['tools/call', { name: 'work', arguments: {} }] as const;
  const { taskId } = (await askModern(door, call, { capabilities })).result;
  const restarted = crib.restart();
  await expect.poll(() => fetch(crib.url).catch(() => 'gone'), { timeout: 5_000 }).toBe('gone');
  go.resolve('done');
  await restarted;
  const { result } = await askModern(door, ['tasks/get', { taskId }], { capabilities });
  expect(result).toMatchObject({ status: 'completed' });
});

test('A9/A10 after a restart an event id works in its own session only; in others it looks unknown', async () => {
  const { tool, go } = steps();
  const crib = await openCrib({ offers: [tool] });
  const door = doorTo(crib);
  const mine = await openSession(door);
  const [mineToo, bobs, eves] = [
    await openSession(door),
    await openSession(door, { as: 'bob' }),
    await openSession(door, { as: 'eve' }),
  ];
  const eventId = await dropAfterFirst(mine);
  go();
  expect(await restAfter(mine, eventId)).toHaveLength(4);
  await crib.restart();
  const heard = async (client: SessionClient, id: string): Promise<[number, string]> => {
    const response = await client.get({ 'last-event-id': id });
    return [response.status, await response.text()];
  };
  const never = await heard(bobs, 'AAAAAAAAAAAA.1');
  expect(never[0]).toBe(404);
  for (const other of [mineToo, bobs, eves]) {
    expect(await heard(other, eventId)).toEqual(never);
    // Nor does it help to name the session in the event.
    for (const id of [`${mine.id}/${eventId}`, `../${mine.id}/${eventId}`, `${mine.id}.1`])
      expect(await heard(other, id)).toEqual(never);
  }
  for (const id of [`${eventId}9`, 'nonsense', '.', '', '__proto__.1', `${mine.id}.1`])
    expect(await heard(mine, id)).toEqual(never);
  const foreign = await heard(new SessionClient(door, crypto.randomUUID(), { as: 'bob' }), eventId);
  for (const as of ['bob', 'eve'] as const)
    expect(await heard(new SessionClient(door, mine.id, { as }), eventId)).toEqual(foreign);
  // There was something to learn, and its owner does.
  expect(await restAfter(mine, eventId)).toMatchObject([2, 3, 4, answer]);
});

test('the stream of a session goes on after a restart: missed messages, then new ones, each with an id of its own', async () => {
  const [one, two] = ['one', 'two'].map((name) => defineTool({ name, description: 'Is there.' }, () => name));
  const crib = await openCrib({ offers: [one!, two!] });
  const session = await openSession(doorTo(crib));
  const change = async (tool: string): Promise<void> => {
    crib.configure({ access: [{ roles: ['staff'], tools: [tool] }] });
    await crib.reload();
  };
  const changed = { method: 'notifications/tools/list_changed' };
  const stream = await session.stream();
  await change('one');
  const ids = [(await stream.message()).id!];
  await change('two');
  ids.push((await stream.message()).id!);
  await stream.hangUp();

  for (let restart = 0; restart < 2; restart++) {
    await crib.restart();
    const resumed = await session.stream(ids[0]);
    for (const id of ids.slice(1)) expect((await resumed.message()).id).toBe(id);
    await change('one');
    const fresh = await resumed.message();
    expect(fresh.message).toMatchObject(changed);
    expect(ids).not.toContain(fresh.id);
    ids.push(fresh.id!);
    await change('two');
    ids.push((await resumed.message()).id!);
    await resumed.hangUp();
  }
  expect(new Set(ids).size).toBe(ids.length);
  // A client that has seen everything waits for new events and is not disconnected.
  const waiting = await session.stream(ids.at(-1));
  await change('one');
  expect((await waiting.message()).message).toMatchObject(changed);
  await waiting.hangUp();
});

test('event ids are not reused by streams of the same session after a restart', async () => {
  const work = steps();
  work.go();
  const crib = await openCrib({ offers: [work.tool] });
  const session = await openSession(doorTo(crib));
  const seen: (string | undefined)[] = [];
  for (let restart = 0; restart < 2; restart++) {
    const events = await new EventReader(await session.call('work')).rest();
    seen.push(...events.map(({ id }) => id));
    await crib.restart();
  }
  expect(seen).toHaveLength(12);
  expect(new Set(seen).size).toBe(12);
});

test('an answer to a question from before a restart is not accepted for a question asked after it', async () => {
  const ask = defineTool({ name: 'work', description: 'Asks.' }, async (_args, { elicit }) => {
    const { action } = await elicit({
      message: 'Sure?',
      schema: { properties: { ok: { type: 'boolean' } } },
    });
    return action;
  });
  const crib = await openCrib({ offers: [ask] });
  const session = await openSession(doorTo(crib), { capabilities: { elicitation: {} } });
  const question = async (reader: EventReader): Promise<unknown> =>
    (await reader.until(({ method }) => method === 'elicitation/create')).at(-1)!['id'];
  const reply = (id: unknown, action: string) => session.post({ jsonrpc: '2.0', id, result: { action } });
  const early = new EventReader(await session.call('work'));
  const earlyId = await question(early);
  await early.hangUp();
  await crib.restart();
  const late = new EventReader(await session.call('work'));
  const lateId = await question(late);
  await reply(earlyId, 'accept');
  await reply(lateId, 'decline');
  expect((await late.message()).message).toMatchObject({ result: { content: [{ text: 'decline' }] } });
});

const files = {
  'tools/long.ts': `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { defineTool } from 'toolcrib';
  export const job = defineTool({ name: 'job', description: 'Goes on as a task.' }, async (_args, { detach }) => {
    detach();
    await sleep(600_000);
  });
  const annotations = { readOnlyHint: true };
  export const watch = defineTool({ name: 'watch', description: 'Goes on as a task.', annotations }, async (_args, { detach }) => {
    detach();
    await sleep(600_000);
  });
  export const work = defineTool({ name: 'work', description: 'Reports, and never ends.' }, async (_args, { progress }) => {
    for (const step of [1, 2, 3]) progress(step, 4);
    await sleep(600_000);
  });`,
};

/** The built server on a folder that outlasts it. */
class Restarting {
  readonly folder = prepare({ files });
  #child!: Child;
  url = '';
  keys!: Crib['keys'];

  static async start(): Promise<Restarting> {
    const server = new Restarting();
    server.keys = await admitAll(server.folder);
    await server.#start();
    return server;
  }

  /** Kills it and starts it again. */
  async restart(): Promise<void> {
    await this.#child.kill();
    await this.#start();
  }

  async #start(): Promise<void> {
    this.#child = startNode([cli, 'serve', '--config', join(this.folder, 'toolcrib.yaml')]);
    this.url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(await this.#child.outputUntil('Ctrl-C'))![0];
  }
}

test('a task whose server was killed is failed after the restart, and cannot be cancelled', async () => {
  const server = await Restarting.start();
  const door = doorTo(server) as Door;
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const about = async (method: string, params: object) =>
    (await askModern(door, [method, { ...params }], { capabilities })).result;
  const { taskId } = await about('tools/call', { name: 'job', arguments: {} });
  expect(await about('tasks/get', { taskId })).toMatchObject({ status: 'working' });
  await server.restart();
  const failed = {
    status: 'failed',
    error: { message: 'The server ended while the task ran; its outcome is unknown.' },
  };
  expect(await about('tasks/get', { taskId })).toMatchObject(failed);
  expect(await about('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' });
  expect(await about('tasks/get', { taskId })).toMatchObject(failed);
});

test('R3 a call that became a task is on record when its server is killed, with or without effects', async () => {
  const server = await Restarting.start();
  const door = doorTo(server) as Door;
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  for (const name of ['job', 'watch'])
    expect(
      (await askModern(door, ['tools/call', { name, arguments: {} }], { capabilities })).result,
    ).toMatchObject({ resultType: 'task' });
  await server.restart();
  const facts = readRows(server.folder).map(({ kind, caller, tool, outcome }) => [
    kind,
    caller,
    tool,
    outcome,
  ]);
  expect(facts).toEqual([
    ['intent', 'ada', 'job', undefined],
    ['intent', 'ada', 'watch', undefined],
    ['outcome', 'ada', 'job', 'unknown'],
    ['outcome', 'ada', 'watch', 'unknown'],
  ]);
});

test('after its server was killed a client gets the stored messages of a call, then the end of the stream, and no retry', async () => {
  const server = await Restarting.start();
  const session = await openSession(doorTo(server));
  const reader = new EventReader(await session.call('work'));
  const events = [await reader.message(), await reader.message(), await reader.message()];
  await reader.hangUp();
  // Sent messages are kept while a client can reconnect.
  const back = await session.stream(events[1]!.id);
  await back.message();
  await back.hangUp();
  await server.restart();
  expect(await restAfter(session, events[0]!.id!)).toEqual([2, 3]);
  expect((await session.get({ 'last-event-id': events[2]!.id! })).status).toBe(405);
});
