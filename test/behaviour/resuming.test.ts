import { expect, test } from 'vitest';
import { defineTool, ToolRegistry } from '../../src/index.ts';
import { deferred, type Deferred } from './deferred.ts';
import {
  describeDoors,
  EventReader,
  openSession,
  SessionClient,
  type StreamedEvent,
} from './session-client.ts';

/** A tool that reports a step each time the test lets it, and says whether it was stopped. */
function stepper(steps: number) {
  const gates: Deferred<void>[] = Array.from({ length: steps }, () => deferred());
  const reported: Deferred<void>[] = Array.from({ length: steps }, () => deferred());
  const finished = deferred<string>();
  const tool = defineTool({ name: 'work', description: 'Works step by step.' }, async (_args, context) => {
    for (let step = 0; step < steps; step++) {
      await gates[step]!.promise;
      context.progress(step + 1, steps);
      reported[step]!.resolve();
    }
    finished.resolve(context.signal.aborted ? 'stopped' : 'finished');
    return 'all done';
  });
  return {
    tool,
    finished: finished.promise,
    /** Lets it take a step, and waits until it has. */
    async step(index: number): Promise<void> {
      gates[index]!.resolve();
      await reported[index]!.promise;
    },
  };
}

function progressOf({ data }: StreamedEvent): unknown {
  const message = JSON.parse(data!) as { params?: { progress: number }; result?: object };
  return message.params?.progress ?? message.result;
}

describeDoors((open) => {
  test('each event of a session stream has an id of its own', async () => {
    const work = stepper(3);
    const session = await openSession(await open({ tools: [work.tool] }), { version: '2025-06-18' });
    const answered = session.call('work');
    for (const step of [0, 1, 2]) await work.step(step);
    const events = await new EventReader(await answered).rest();
    expect(events).toHaveLength(4);
    expect(new Set(events.map(({ id }) => id)).size).toBe(4);
    for (const { id } of events) expect(id).toMatch(/^[\w-]{12}\.\d+$/);
  });

  test.each([
    ['2025-03-26', false],
    ['2025-06-18', false],
    ['2025-11-25', true],
  ])('on %s a stream begins with an event id for reconnecting: %s', async (version, isPrimed) => {
    const work = stepper(1);
    const session = await openSession(await open({ tools: [work.tool] }), { version });
    const answered = session.call('work');
    await work.step(0);
    const [first, ...others] = await new EventReader(await answered).rest();
    expect(first!.data === '').toBe(isPrimed);
    expect(first!.retry).toBe(isPrimed ? '500' : undefined);
    expect(first!.id).toBeDefined();
    for (const event of others) expect(event.retry).toBe(undefined);
  });

  test('a dropped connection does not cancel; a client that reconnects gets exactly the missed messages, then the rest', async () => {
    const work = stepper(5);
    const session = await openSession(await open({ tools: [work.tool] }));
    const answered = session.call('work');
    await work.step(0);
    const dropped = new EventReader(await answered);
    await dropped.next();
    const { id: lastSeen } = await dropped.message();
    await dropped.hangUp();
    await work.step(1);
    await work.step(2);

    const resumed = await session.stream(lastSeen);
    expect([await resumed.next(), await resumed.next()].map((event) => progressOf(event!))).toEqual([2, 3]);
    await work.step(3);
    expect(progressOf((await resumed.next())!)).toBe(4);
    await work.step(4);
    expect(await work.finished).toBe('finished');
    const [last, result, nothing] = await resumed.rest();
    expect(progressOf(last!)).toBe(5);
    expect(progressOf(result!)).toMatchObject({ content: [{ text: 'all done' }] });
    expect(nothing).toBe(undefined);
  });

  test('a result that was ready before the client reconnected is delivered, and the stream ends after it', async () => {
    const work = stepper(2);
    const session = await openSession(await open({ tools: [work.tool] }));
    const answered = session.call('work', {}, 'call-7');
    await work.step(0);
    const dropped = new EventReader(await answered);
    const first = await dropped.next();
    await dropped.hangUp();
    await work.step(1);
    await work.finished;

    const events = await (await session.stream(first!.id)).rest();
    expect(events.map((event) => progressOf(event))).toMatchObject([
      1,
      2,
      { content: [{ type: 'text', text: 'all done' }] },
    ]);
    expect(JSON.parse(events[2]!.data!)).toMatchObject({ id: 'call-7' });
    // It can be fetched again from any point, as long as the session remembers it.
    const again = await (await session.stream(events[1]!.id)).rest();
    expect(again).toEqual([events[2]]);
  });

  test('A9 an event id works in its own session only; in others it looks unknown', async () => {
    const work = stepper(1);
    const door = await open({ tools: [work.tool] });
    const mine = await openSession(door);
    const other = await openSession(door);
    const answered = mine.call('work');
    await work.step(0);
    const [first] = await new EventReader(await answered).rest();
    const eventId = first!.id!;
    const attempts = [
      new SessionClient(door, mine.id, { as: 'bob' }).get({ 'last-event-id': eventId }),
      new SessionClient(door, mine.id, { as: 'eve' }).get({ 'last-event-id': eventId }),
    ];
    for (const attempt of attempts) expect((await attempt).status).toBe(404);
    const bodies = [];
    for (const unknown of [eventId, `${eventId}9`, 'AAAAAAAAAAAA.1', 'nonsense', '.', '__proto__.1']) {
      const response = await (unknown === eventId ? other : mine).get({
        'last-event-id': unknown === eventId ? eventId : unknown,
      });
      expect(response.status).toBe(404);
      bodies.push(await response.text());
    }
    expect(new Set(bodies).size).toBe(1);
    expect((await mine.get({ 'last-event-id': eventId })).status).toBe(200);
  });

  test('the stream of a session can be resumed as well, and continues with new messages', async () => {
    const source = new ToolRegistry();
    const named = (name: string) => defineTool({ name, description: 'One of several.' }, () => name);
    const session = await openSession(await open({ source }));
    const stream = await session.stream();
    source.registerTool(named('first'));
    const { id } = await stream.message();
    source.registerTool(named('second'));
    const second = await stream.message();
    await stream.hangUp();
    source.registerTool(named('third'));
    await Promise.resolve();

    const resumed = await session.stream(id);
    expect((await resumed.message()).id).toBe(second.id);
    const third = await resumed.message();
    expect(third.message).toEqual(second.message);
    source.registerTool(named('fourth'));
    const fourth = await resumed.message();
    expect(new Set([id, second.id, third.id, fourth.id]).size).toBe(4);
  });

  test('an unknown event id does not affect the open stream', async () => {
    const source = new ToolRegistry();
    const session = await openSession(await open({ source }));
    const stream = await session.stream();
    source.registerTool(defineTool({ name: 'first', description: 'One of several.' }, () => 1));
    const { id } = await stream.message();
    expect((await session.get({ 'last-event-id': `${id}99` })).status).toBe(404);
    source.remove('first');
    expect((await stream.message()).message).toMatchObject({ method: 'notifications/tools/list_changed' });
  });

  test('closeStream ends the stream early on 2025-11-25, and the result waits for the client to reconnect', async () => {
    const release = deferred();
    const poll = defineTool({ name: 'poll', description: 'Lets go early.' }, async (_args, context) => {
      context.closeStream();
      await release.promise;
      context.progress(1);
      return 'later';
    });
    const session = await openSession(await open({ tools: [poll] }));
    const events = await new EventReader(await session.call('poll')).rest();
    expect(events).toEqual([{ id: expect.any(String) as string, retry: '500', data: '' }]);
    const before = await session.stream(events[0]!.id);
    release.resolve();
    const rest = await before.rest();
    expect(rest.map((event) => progressOf(event))).toMatchObject([
      1,
      { content: [{ type: 'text', text: 'later' }] },
    ]);
  });

  test.each(['2025-03-26', '2025-06-18'])('closeStream does nothing on %s', async (version) => {
    const poll = defineTool({ name: 'poll', description: 'Lets go early.' }, (_args, context) => {
      context.closeStream();
      return 'at once';
    });
    const session = await openSession(await open({ tools: [poll] }), { version });
    expect(await session.answer('tools/call', { name: 'poll' })).toMatchObject({
      result: { content: [{ text: 'at once' }] },
    });
  });

  test('a question sent on a lost stream is sent again when the client reconnects', async () => {
    const ask = defineTool({ name: 'ask', description: 'Asks.' }, async (_args, { elicit, progress }) => {
      progress(1);
      const answer = await elicit({ message: 'Sure?', schema: { properties: { ok: { type: 'boolean' } } } });
      return answer.action;
    });
    const session = await openSession(await open({ tools: [ask] }), { capabilities: { elicitation: {} } });
    const dropped = new EventReader(await session.call('ask'));
    const { id } = (await dropped.next())!;
    await dropped.hangUp();
    const resumed = await session.stream(id);
    const messages = await resumed.until(({ method }) => method === 'elicitation/create');
    const question = messages.at(-1)!;
    await session.post({ jsonrpc: '2.0', id: question['id'], result: { action: 'decline' } });
    expect((await resumed.message()).message).toMatchObject({ result: { content: [{ text: 'decline' }] } });
  });

  test('a session keeps its most recent streams; the oldest ended streams are removed', async () => {
    const work = defineTool({ name: 'work', description: 'Works.' }, (_args, { progress }) => {
      progress(1);
      return 'done';
    });
    const session = await openSession(await open({ tools: [work] }));
    const ids: string[] = [];
    for (let count = 0; count < 70; count++) {
      const [first] = await new EventReader(await session.call('work')).rest();
      ids.push(first!.id!);
    }
    const statuses = [];
    for (const id of [ids[0]!, ids[20]!, ids.at(-40)!, ids.at(-1)!]) {
      const response = await session.get({ 'last-event-id': id });
      statuses.push(response.status);
      await response.text();
    }
    expect(statuses).toEqual([404, 200, 200, 200]);
  });
});
