import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { ownerOf } from '../../src/core/caller.ts';
import { createInMemory } from '../../src/core/memory/in-memory.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Memory } from '../../src/core/memory/memory.ts';
import { belongings, byName, makeTask, ping } from './belongings.ts';
import { Client, Events, type Reply, type RequestOptions } from './client.ts';
import { ada, others } from './people.ts';
import { leakedAnswers } from './raw-http.ts';
import { richTarget } from './rich-target.ts';

for (const [who, caller] of others) {
  test.each(byName(belongings))(
    `A9 ${who} who tries to %s gets the response for an unknown id, and the owner keeps access`,
    async (_name, { make, invent, use, hers }) => {
      const target = await richTarget();
      const owner = new Client(target, ada);
      const thief = new Client(target, caller);
      const id = await make(owner, target);
      const never = invent();
      const answer = await thief.send(await use(thief, id));
      const baseline = await thief.send(await use(thief, never));
      expect(answer.status).toBeGreaterThanOrEqual(200);
      expect({ status: answer.status, body: answer.body.replaceAll(id, '<id>') }).toEqual({
        status: baseline.status,
        body: baseline.body.replaceAll(never, '<id>'),
      });
      expect(answer.json?.error?.code).toBeLessThan(0);
      const own = await owner.send(await use(owner, id));
      expect([own.status, own.body, hers(own)]).toEqual([own.status, own.body, true]);
    },
  );
}

test.each(
  byName(belongings.filter(({ name }) => !name.includes('of their own') && !name.includes('beside'))),
)('A9 control: to %s works with her identity', async (_name, { make, use, hers }) => {
  const target = await richTarget({ authenticate: () => ada });
  const id = await make(new Client(target, ada), target);
  const other = new Client(target, others[0]![1]);
  expect(hers(await other.send(await use(other, id)))).toBe(true);
});

test('A9 control: a session memory that ignores the owner lets strangers in', async () => {
  const memory = createInMemory(systemClock);
  const [, [, stranger]] = others as [(typeof others)[0], (typeof others)[0]];
  const careless: Memory = {
    ...memory,
    sessions: {
      ...memory.sessions,
      get: async (id) => {
        const record = await memory.sessions.get(id);
        return record && { ...record, owner: ownerOf(stranger) };
      },
    },
  };
  const target = await richTarget({ memory: careless });
  const thief = new Client(target, stranger);
  const id = await (async () => {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const { headers } = await new Client(target, ada).send(new Client(target, ada).old('initialize', params));
    return headers['mcp-session-id'] as string;
  })();
  expect((await thief.send(ping(id))).status).toBe(200);
});

for (const [who, caller] of others) {
  test(`A9 ${who} who ends, cancels or takes over by the owner's ids does not affect the owner's call, stream and task`, async () => {
    const target = await richTarget();
    const owner = new Client(target, ada);
    const session = await owner.startSession('2025-11-25');
    const unasked = new Events(await owner.open({ method: 'GET', headers: { 'mcp-session-id': session } }));
    const call = owner.old('tools/call', { name: 'work', _meta: { progressToken: 'p' } }, { session, id: 7 });
    const events = new Events(await owner.open(call));
    await events.next();
    const taskId = await makeTask('detach')(owner);
    await attackAll(new Client(target, caller), { session, taskId, eventId: events.lastId! });
    target.release();
    expect((await events.next())?.params).toMatchObject({
      progressToken: 'p',
      progress: 2,
      message: 'for ada',
    });
    expect(JSON.stringify(await events.next())).toContain('worked for ada');
    target.registry.registerPrompt({ ...target.registry.prompts!.find('greet')!, name: 'greet-2' });
    expect(await unasked.next()).toMatchObject({ method: 'notifications/prompts/list_changed' });
    await expect
      .poll(async () => (await owner.ask('tasks/get', { taskId })).json?.result)
      .toMatchObject({ status: 'completed', result: { content: [{ text: 'done for ada' }] } });
  });

  test(`A9 ${who} who subscribes to the owner's task, resource or subscription id gets no notification of them`, async () => {
    const target = await richTarget();
    const owner = new Client(target, ada);
    const taskId = await makeTask('detach')(owner);
    const wanted = { taskIds: [taskId], resourceSubscriptions: ['note://ada', 'note://shared'] };
    const listenAs = async (client: Client): Promise<Events> => {
      const events = new Events(
        await client.open(client.modern('subscriptions/listen', { notifications: wanted }, 'sub')),
      );
      expect(await events.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
      return events;
    };
    const hers = await listenAs(owner);
    const thief = new Client(target, caller);
    const theirs = await listenAs(thief);
    await thief.send({
      body: '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}',
    });
    target.registry.resourceUpdated('note://ada');
    await owner.ask('tasks/cancel', { taskId });
    target.registry.resourceUpdated('note://shared');
    expect(await hers.next()).toMatchObject({ params: { uri: 'note://ada' } });
    expect(await hers.next()).toMatchObject({ method: 'notifications/tasks', params: { taskId } });
    expect(await hers.next()).toMatchObject({ params: { uri: 'note://shared' } });
    expect(await theirs.next()).toMatchObject({ params: { uri: 'note://shared' } });
  });

  test(`A9 ${who} who subscribes to a resource on a session is notified only while they may read it`, async () => {
    const target = await richTarget();
    const thief = new Client(target, caller);
    const session = await thief.startSession('2025-06-18');
    const subscribe = (uri: string): Promise<Reply> =>
      thief.send(thief.old('resources/subscribe', { uri }, { session }));
    const [hidden, never] = [await subscribe('note://ada'), await subscribe('note://nobody')];
    expect(hidden.json?.error?.code).toBe(-32002);
    expect(hidden.json?.error?.message.replace('ada', '?')).toBe(
      never.json?.error?.message.replace('nobody', '?'),
    );
    await subscribe('note://shared');
    const events = new Events(await thief.open({ method: 'GET', headers: { 'mcp-session-id': session } }));
    target.registry.resourceUpdated('note://ada');
    target.registry.resourceUpdated('note://shared');
    expect(await events.next()).toMatchObject({ params: { uri: 'note://shared' } });
  });

  test(`A9 ${who} who uses the owner's progress token and id gets their own progress and response, and so does the owner`, async () => {
    const target = await richTarget();
    const work = async (client: Client): Promise<Events> => {
      const call = client.modern('tools/call', { name: 'work', _meta: { progressToken: 'p' } }, 1);
      const events = new Events(await client.open(call));
      expect((await events.next())?.params).toMatchObject({ message: `for ${client.caller.id}` });
      return events;
    };
    const [hers, theirs] = [await work(new Client(target, ada)), await work(new Client(target, caller))];
    target.release();
    for (const [events, { id }] of [
      [hers, ada],
      [theirs, caller],
    ] as [Events, Caller][]) {
      expect((await events.next())?.params).toMatchObject({ progressToken: 'p', message: `for ${id}` });
      expect(JSON.stringify(await events.next())).toContain(`worked for ${id}`);
    }
  });
}

test('A9 a second stream of a session is refused and does not replace the first', async () => {
  const target = await richTarget();
  const owner = new Client(target, ada);
  const session = await owner.startSession('2025-11-25');
  const get: RequestOptions = { method: 'GET', headers: { 'mcp-session-id': session } };
  const first = new Events(await owner.open(get));
  expect((await owner.send(get)).status).toBe(409);
  target.registry.registerPrompt({ ...target.registry.prompts!.find('greet')!, name: 'greet-2' });
  expect(await first.next()).toMatchObject({ method: 'notifications/prompts/list_changed' });
});

test("A9 an unknown event id does not end the owner's live stream", async () => {
  const target = await richTarget();
  const owner = new Client(target, ada);
  const session = await owner.startSession('2025-11-25');
  const first = new Events(await owner.open({ method: 'GET', headers: { 'mcp-session-id': session } }));
  target.registry.registerPrompt({ ...target.registry.prompts!.find('greet')!, name: 'greet-2' });
  await first.next();
  const lost = first.lastId!.replace(/\.\d+$/, '.999');
  const headers = { 'mcp-session-id': session, 'last-event-id': lost };
  expect((await owner.send({ method: 'GET', headers })).status).toBe(404);
  target.registry.registerPrompt({ ...target.registry.prompts!.find('greet')!, name: 'greet-3' });
  expect(await first.next()).toMatchObject({ method: 'notifications/prompts/list_changed' });
});

test('A9 an ended session gets the response for an unknown session', async () => {
  const target = await richTarget();
  const owner = new Client(target, ada);
  const session = await owner.startSession('2025-11-25');
  expect((await owner.send({ method: 'DELETE', headers: { 'mcp-session-id': session } })).status).toBe(204);
  const [ended, never] = [await owner.send(ping(session)), await owner.send(ping(randomUUID()))];
  expect([ended.status, ended.body]).toEqual([404, never.body]);
});

test('A9 no response reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

async function attackAll(
  thief: Client,
  { session, taskId, eventId }: { session: string; taskId: string; eventId: string },
): Promise<void> {
  const own = await thief.startSession('2025-11-25');
  const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}';
  const attempts: RequestOptions[] = [
    { method: 'DELETE', headers: { 'mcp-session-id': session } },
    { method: 'GET', headers: { 'mcp-session-id': session } },
    { method: 'GET', headers: { 'mcp-session-id': session, 'last-event-id': eventId } },
    { method: 'GET', headers: { 'mcp-session-id': own, 'last-event-id': eventId } },
    { headers: { 'mcp-session-id': session }, body: cancel },
    { headers: { 'mcp-session-id': own }, body: cancel },
    { body: cancel },
    thief.modern('tasks/cancel', { taskId }),
  ];
  for (const attempt of attempts) {
    const { status } = await thief.send(attempt);
    expect([200, 202, 404]).toContain(status);
  }
}
