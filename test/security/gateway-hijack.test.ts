import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { everythingForStaff, openCrib, type Crib, type Holder } from '../gateway.ts';
import { propertyRuns } from '../property-runs.ts';
import { belongings, makeTask, ping, type Belonging } from './belongings.ts';
import { Events, type Reply } from './client.ts';
import { KeyClient } from './key-client.ts';
import { leakedAnswers } from './raw-http.ts';
import { richOffers, type RichOffers } from './rich-target.ts';

// A gateway publishes nothing; everything else a caller can own is there.
const owned = belongings.filter(({ name }) => !name.includes('published'));
const lasting = owned.filter(({ name }) => !name.includes('stream') && !name.includes('listen to'));

const thieves: readonly [who: string, holder: Holder, ids: string][] = [
  ['a colleague', 'bob', 'A9'],
  ['a stranger', 'cyn', 'A9 B9'],
  ['a stranger of the same name', 'other ada', 'A9 B9'],
];

async function openRich(): Promise<Crib & Pick<RichOffers, 'release' | 'ran'>> {
  const { tools, resources, prompts, ran, release } = richOffers();
  // Enough for a second page, and hers alone, so that her cursor means something to her only.
  const many = Array.from({ length: 1_010 }, (_, index) =>
    defineTool({ name: `ada-more-${index}`, description: 'For her alone.' }, () => index),
  );
  const crib = await openCrib({
    offers: [...tools, ...many, ...resources, ...prompts],
    config: {
      server: { sse: true, requestsPerMinute: 1_000_000 },
      access: [
        { tenants: ['north'], callers: ['ada'], tools: ['*'], resources: ['*'], prompts: ['*'] },
        { tools: ['ada-*'], effect: 'deny' },
        { resources: ['note://ada'], effect: 'deny' },
        everythingForStaff,
      ],
      stages: { rateLimit: false },
    },
  });
  return Object.assign(crib, { ran, release });
}

for (const [who, holder, ids] of thieves) {
  test(`${ids} ${who} who uses ids of the owner gets the response for an unknown id, from a gateway that stores them in SQLite`, async () => {
    const crib = await openRich();
    const [owner, thief] = [new KeyClient(crib, 'ada'), new KeyClient(crib, holder)];
    for (const belonging of owned) {
      const id = await belonging.make(owner, crib);
      await expectNothing(thief, belonging, id);
      const own = await owner.send(await belonging.use(owner, id));
      expect([belonging.name, own.status, own.body, belonging.hers(own)]).toEqual([
        belonging.name,
        own.status,
        own.body,
        true,
      ]);
    }
  });

  test(`${ids} ${who} gets no access after a restart of the server, and the owner still has it`, async () => {
    const crib = await openRich();
    const [owner, thief] = [new KeyClient(crib, 'ada'), new KeyClient(crib, holder)];
    const made: [Belonging, string][] = [];
    for (const belonging of lasting) made.push([belonging, await belonging.make(owner, crib)]);
    await crib.restart();
    for (const [belonging, id] of made) {
      await expectNothing(thief, belonging, id);
      const own = await owner.send(await belonging.use(owner, id));
      expect([belonging.name, own.body, belonging.hers(own)]).toEqual([belonging.name, own.body, true]);
    }
  });

  test(`${ids} ${who} who ends, cancels or subscribes by the owner's ids does not affect the owner's call and task`, async () => {
    const crib = await openRich();
    const [owner, thief] = [new KeyClient(crib, 'ada'), new KeyClient(crib, holder)];
    const session = await owner.startSession('2025-11-25');
    const call = owner.old('tools/call', { name: 'work', _meta: { progressToken: 'p' } }, { session, id: 7 });
    const events = new Events(await owner.open(call));
    await events.next();
    const taskId = await makeTask('detach')(owner);
    const wanted = { taskIds: [taskId] };
    const theirs = new Events(
      await thief.open(thief.modern('subscriptions/listen', { notifications: wanted }, 'sub')),
    );
    await theirs.next();
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}';
    const own = await thief.startSession('2025-11-25');
    for (const attempt of [
      { method: 'DELETE', headers: { 'mcp-session-id': session } } as const,
      { headers: { 'mcp-session-id': session }, body: cancel },
      { headers: { 'mcp-session-id': own }, body: cancel },
      { method: 'GET', headers: { 'mcp-session-id': own, 'last-event-id': events.lastId! } } as const,
      thief.modern('tasks/cancel', { taskId }),
    ])
      expect([200, 202, 404]).toContain((await thief.send(attempt)).status);
    crib.release();
    expect((await events.next())?.params).toMatchObject({ progressToken: 'p', message: 'for ada' });
    expect(JSON.stringify(await events.next())).toContain('worked for ada');
    await expect
      .poll(async () => (await owner.ask('tasks/get', { taskId })).json?.result)
      .toMatchObject({ status: 'completed', result: { content: [{ text: 'done for ada' }] } });
    await crib.gateway.close();
    const rest: unknown[] = [];
    for (let message = await theirs.next(); message; message = await theirs.next()) rest.push(message);
    expect(JSON.stringify(rest)).not.toContain(taskId);
  });
}

test('A9 control: another key of the same caller can use everything of the owner', async () => {
  const crib = await openRich();
  const [owner, again] = [new KeyClient(crib, 'ada'), new KeyClient(crib, 'ada again')];
  for (const belonging of owned.filter(({ name }) => !name.includes('of their own'))) {
    const id = await belonging.make(owner, crib);
    const reply = await again.send(await belonging.use(again, id));
    expect([belonging.name, reply.body, belonging.hers(reply)]).toEqual([belonging.name, reply.body, true]);
  }
});

test('B9 any text sent as an id gets the response for an unknown id', async () => {
  const crib = await openRich();
  const client = new KeyClient(crib, 'cyn');
  const answerTo = async (method: string, member: string, id: string): Promise<string> => {
    const named = method === 'tools/call' ? { name: 'ask', inputResponses: {} } : {};
    const { status, json } = await client.ask(method, { [member]: id, ...named });
    return `${status} ${json?.error?.code} ${json?.error?.message}`;
  };
  const operations = [
    ['tasks/get', 'taskId'],
    ['tasks/update', 'taskId'],
    ['tasks/cancel', 'taskId'],
    ['tools/list', 'cursor'],
    ['resources/list', 'cursor'],
    ['prompts/list', 'cursor'],
    ['tools/call', 'requestState'],
  ] as const;
  for (const [method, member] of operations) {
    const expected = await answerTo(method, member, 'abcdefghijklmnopqrstuv');
    expect(expected).toMatch(/-32602/);
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, maxLength: 60 }), async (id) => {
        expect([method, await answerTo(method, member, id)]).toEqual([method, expected]);
      }),
      { numRuns: propertyRuns(1_000, 30) },
    );
  }
});

test('B9 a session id of any form that belongs to another caller is unknown', async () => {
  const crib = await openRich();
  const client = new KeyClient(crib, 'cyn');
  const never = await client.send(ping(randomUUID()));
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[!-~]{1,80}$/), async (id) => {
      const { status, body } = await client.send(ping(id));
      expect([status, body]).toEqual([never.status, never.body]);
    }),
    { numRuns: propertyRuns() },
  );
});

test('A9 no response reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

async function expectNothing(thief: KeyClient, { name, use, invent }: Belonging, id: string): Promise<void> {
  const never = invent();
  const answer = await thief.send(await use(thief, id));
  const baseline = await thief.send(await use(thief, never));
  expect([name, shape(answer, id)]).toEqual([name, shape(baseline, never)]);
  expect([name, answer.json?.error?.code ?? 0]).toEqual([name, expect.any(Number)]);
  expect([name, answer.json?.error]).not.toEqual([name, undefined]);
}

function shape({ status, body, headers }: Reply, id: string): unknown {
  const { date: _date, 'content-length': _length, 'mcp-session-id': _session, ...rest } = headers;
  return { status, body: body.replaceAll(id, '<id>'), headers: rest };
}
