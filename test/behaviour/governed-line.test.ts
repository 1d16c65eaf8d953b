import { expect, test } from 'vitest';
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  ToolcribError,
} from '../../src/index.ts';
import { openCrib, type Crib, type RecordRow } from '../gateway.ts';
import { requestAnswering } from './answering.ts';
import { deferred } from './deferred.ts';
import { echo, reads, textInput, versions } from './governed-tools.ts';
import { revisions } from './matrix.ts';
import type { Json, Peer } from './peer.ts';

const under = (key: string): Json => ({ 'dev.toolcrib/idempotencyKey': key });
const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

// What a row says of how a call went.
const gist = (row: RecordRow): unknown[] => [row['kind'], row['outcome'], row['from']].filter(Boolean);

test('a tool with effects is on record before it runs and again after it ended, in every revision', async () => {
  const seen: unknown[] = [];
  const place: { crib?: Crib } = {};
  const tool = defineTool({ name: 'act', description: 'Acts.' }, () => {
    seen.push(place.crib?.rowsOf('act').map(gist).at(-1));
    return 'acted';
  });
  const crib = await openCrib({ offers: [tool] });
  place.crib = crib;
  for (const version of versions) await (await crib.connect('ada', { version })).call('act');
  expect(seen).toEqual(versions.map(() => ['intent']));
  const rows = crib.rowsOf('act');
  expect(rows.map(gist)).toEqual(versions.flatMap(() => [['intent'], ['outcome', 'done']]));
  for (let at = 0; at < rows.length; at += 2) expect(rows[at]!['call']).toBe(rows[at + 1]!['call']);
  expect(new Set(rows.map(({ call }) => call)).size).toBe(versions.length);
});

test('a refused call is on record and has no intent row', async () => {
  const tool = defineTool(
    { name: 'act', description: 'Acts.', input: textInput },
    (args: { text: string }) => args.text,
  );
  const crib = await openCrib({
    offers: [tool],
    config: { access: [{ roles: ['staff'], tools: ['act'], when: 'args.text != "no"' }] },
  });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    await peer.call('act', { text: 'no' });
    await peer.call('act', {});
    await (await crib.connect('guest', { version })).error('tools/call', { name: 'act', arguments: {} });
  }
  expect(crib.rowsOf('act').map(gist)).toEqual(
    versions.flatMap(() => [
      ['call', 'refused'],
      ['call', 'invalid_arguments'],
      ['call', 'unknown_tool'],
    ]),
  );
});

test('conditions see the arguments that the tool will get: with defaults and without control characters', async () => {
  const ran: unknown[] = [];
  const tool = defineTool(
    {
      name: 'send',
      description: 'Sends.',
      input: { properties: { to: { type: 'string', default: 'everybody' } } },
      ...reads,
    },
    ({ to }) => {
      ran.push(to);
      return `to ${to}`;
    },
  );
  const access = [
    { tools: ['send'], effect: 'deny' as const, when: 'args.to == "everybody"' },
    { roles: ['staff'], tools: ['send'] },
  ];
  const crib = await openCrib({ offers: [tool], config: { access } });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    expect((await peer.call('send')).isError).toBe(true);
    expect((await peer.call('send', { to: 'every\0body' })).isError).toBe(true);
    expect((await peer.call('send', { to: 'bob' })).content[0]!.text).toBe('to bob');
  }
  expect(ran).toEqual(versions.map(() => 'bob'));
});

test('B12 a call repeated under the same idempotency key runs once in any revision, and is recorded as a replay', async () => {
  let runs = 0;
  const tool = defineTool({ name: 'pay', description: 'Pays.', input: textInput }, () => `paid ${++runs}`);
  const crib = await openCrib({ offers: [tool] });
  const pay = async (version: string, text = 'x', as: 'ada' | 'bob' | 'cyn' = 'ada'): Promise<Json> =>
    (await crib.connect(as, { version })).result('tools/call', {
      name: 'pay',
      arguments: { text },
      _meta: under('k1'),
    });
  for (const version of versions) expect(await pay(version)).toMatchObject({ content: [{ text: 'paid 1' }] });
  expect(crib.rowsOf('pay').map(gist)).toEqual([
    ['intent'],
    ['outcome', 'done'],
    ...versions.slice(1).map(() => ['call', 'done', 'replay']),
  ]);
  expect(await pay('2026-07-28', 'other')).toMatchObject({ isError: true });
  expect(await pay('2026-07-28', 'x', 'bob')).toMatchObject({ content: [{ text: 'paid 2' }] });
  expect(await pay('2026-07-28', 'x', 'cyn')).toMatchObject({ content: [{ text: 'paid 3' }] });
  await crib.restart();
  expect(await pay('2026-07-28')).toMatchObject({ content: [{ text: 'paid 1' }] });
  expect(runs).toBe(3);
});

test('B12 control: without the idempotency stage each repetition runs', async () => {
  let runs = 0;
  const tool = defineTool({ name: 'pay', description: 'Pays.' }, () => `paid ${++runs}`);
  const crib = await openCrib({ offers: [tool], config: { stages: { idempotency: false } } });
  const peer = await crib.connect('ada');
  for (let i = 0; i < 3; i++)
    await peer.result('tools/call', { name: 'pay', arguments: {}, _meta: under('k1') });
  expect(runs).toBe(3);
});

test('B12 a hundred simultaneous calls under one idempotency key run the tool once', async () => {
  let runs = 0;
  const tool = defineTool({ name: 'pay', description: 'Pays.' }, async () => {
    await new Promise(setImmediate);
    return `paid ${++runs}`;
  });
  const crib = await openCrib({ offers: [tool] });
  const peer = await crib.connect('ada');
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      peer.result('tools/call', { name: 'pay', arguments: {}, _meta: under('k1') }),
    ),
  );
  expect(runs).toBe(1);
  const done = answers.filter((answer) => answer['isError'] !== true);
  expect(done.length).toBeGreaterThan(0);
  for (const answer of done) expect(answer).toMatchObject({ content: [{ text: 'paid 1' }] });
  expect(crib.rowsOf('pay').filter(({ kind }) => kind === 'intent')).toHaveLength(1);
});

test('a result matches the output schema of its tool, even after a secret was removed from it', async () => {
  const secret = `ghp_${'a1B2'.repeat(9)}`;
  const giving = (name: string, token: object) =>
    defineTool(
      {
        name,
        description: 'Gives a token away.',
        output: { type: 'object', properties: { token: { type: 'string', ...token } }, required: ['token'] },
        ...reads,
      },
      () => ({ token: secret }),
    );
  const crib = await openCrib({ offers: [giving('loose', {}), giving('narrow', { pattern: '^ghp_' })] });
  for (const { version, structured } of revisions) {
    const peer = await crib.connect('ada', { version });
    const loose = await peer.call('loose');
    expect([version, loose.isError ?? false]).toEqual([version, false]);
    if (structured !== 'none') expect(loose.structuredContent).toEqual({ token: expect.any(String) });
    const narrow = await peer.call('narrow');
    expect([version, narrow.isError]).toEqual([version, true]);
    expect(JSON.stringify([loose, narrow])).not.toContain(secret);
  }
  expect(crib.rowsOf('narrow').map(({ outcome }) => outcome)).toEqual(versions.map(() => 'invalid_output'));
});

test('a tool that asks the user gets the answer, uses one rate token for all rounds, and every round is on record', async () => {
  let runs = 0;
  const tool = defineTool({ name: 'ask', description: 'Asks, then acts.' }, async (_args, { elicit }) => {
    const answer = await elicit({
      message: 'How many?',
      schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      key: 'count',
    });
    runs++;
    return answer.action === 'accept' ? `accept ${answer.content.n}` : answer.action;
  });
  for (const { version, era } of revisions.filter(({ asks }) => asks !== 'not')) {
    const crib = await openCrib({ offers: [tool], config: { stages: { rateLimit: { perMinute: 1 } } } });
    const peer = await crib.connect('ada', { version, capabilities: { elicitation: { form: {} } } });
    const { result, asked } = await requestAnswering(
      peer,
      { method: 'tools/call', params: { name: 'ask', arguments: {} } },
      () => ({ action: 'accept', content: { n: 7 } }),
    );
    expect([version, result]).toMatchObject([version, { content: [{ text: 'accept 7' }] }]);
    expect(asked).toHaveLength(1);
    const rounds = era === 'modern' ? [['intent'], ['outcome', 'needs_input']] : [];
    expect([version, crib.rowsOf('ask').map(gist)]).toEqual([
      version,
      [...rounds, ['intent'], ['outcome', 'done']],
    ]);
    expect((await peer.call('ask')).isError).toBe(true);
  }
  expect(runs).toBe(3);
});

test('a tool that asks the user under an idempotency key acts once, however often the last round is sent', async () => {
  let runs = 0;
  const tool = defineTool({ name: 'ask', description: 'Asks, then acts.' }, async (_args, { elicit }) => {
    await elicit({ message: 'Sure?', schema: { type: 'object', properties: {} }, key: 'sure' });
    return `acted ${++runs}`;
  });
  const crib = await openCrib({ offers: [tool] });
  const peer = await crib.connect('ada', { capabilities: { elicitation: { form: {} } } });
  const params = { name: 'ask', arguments: {}, _meta: under('k2') };
  const first = await peer.result('tools/call', params);
  expect(first).toMatchObject({ resultType: 'input_required' });
  const last = {
    ...params,
    requestState: first['requestState'],
    inputResponses: { sure: { action: 'accept', content: {} } },
  };
  expect(await peer.result('tools/call', last)).toMatchObject({ content: [{ text: 'acted 1' }] });
  expect(await peer.request('tools/call', last)).not.toMatchObject({
    result: { content: [{ text: 'acted 2' }] },
  });
  expect(runs).toBe(1);
});

test('a call that becomes a task is recorded as ended when the task ends, with the result of the task', async () => {
  const go = deferred<string>();
  const tool = defineTool({ name: 'long', description: 'Takes long.' }, async (_args, { detach }) => {
    detach();
    return go.promise;
  });
  const crib = await openCrib({ offers: [tool] });
  const peer = await crib.connect('ada', { capabilities: tasks });
  const { taskId, resultType } = await peer.result('tools/call', { name: 'long', arguments: {} });
  expect(resultType).toBe('task');
  expect(crib.rowsOf('long').map(gist)).toEqual([['intent']]);
  expect(await peer.result('tasks/get', { taskId })).toMatchObject({ status: 'working' });
  go.resolve(`done \u001B[31mghp_${'a1B2'.repeat(9)}`);
  await expect
    .poll(() => peer.result('tasks/get', { taskId }), { timeout: 5_000 })
    .toMatchObject({ status: 'completed' });
  const { result } = await peer.result('tasks/get', { taskId });
  expect(JSON.stringify(result)).toContain('done');
  expect(JSON.stringify(result)).not.toMatch(/ghp_|u001b/i);
  expect(crib.rowsOf('long').map(gist)).toEqual([['intent'], ['outcome', 'done']]);
});

test('a task that is cancelled, fails or is cut off by a server shutdown is recorded as such', async () => {
  const started: (() => void)[] = [];
  const tool = defineTool(
    { name: 'long', description: 'Takes long.', input: textInput },
    async ({ text }: { text: string }, { detach, signal }) => {
      detach();
      if (text === 'fail') throw new Error('boom');
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        for (const tell of started.splice(0)) tell();
      });
      return 'never';
    },
  );
  const crib = await openCrib({ offers: [tool] });
  const peer = await crib.connect('ada', { capabilities: tasks });
  const start = async (text: string): Promise<unknown> =>
    (await peer.result('tools/call', { name: 'long', arguments: { text } }))['taskId'];
  await start('fail');
  await expect.poll(() => crib.rowsOf('long').map(gist)).toEqual([['intent'], ['outcome', 'tool_failed']]);
  const taskId = await start('cancel');
  await peer.result('tasks/cancel', { taskId });
  await expect
    .poll(() => crib.rowsOf('long').slice(2).map(gist))
    .toEqual([['intent'], ['outcome', 'cancelled']]);
  await start('stop');
  await crib.restart();
  expect(crib.rowsOf('long').slice(4).map(gist)).toEqual([['intent'], ['outcome', 'cancelled']]);
});

test('a call that is cancelled while it runs has an outcome on record, in every revision', async () => {
  const started: (() => void)[] = [];
  const tool = defineTool(
    { name: 'wait', description: 'Waits.' },
    (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        for (const tell of started.splice(0)) tell();
      }),
  );
  const crib = await openCrib({ offers: [tool] });
  for (const version of versions) {
    const before = crib.rowsOf('wait').length;
    const peer = await crib.connect('ada', { version });
    const stop = new AbortController();
    const isRunning = new Promise<void>((resolve) => {
      started.push(resolve);
    });
    const call = peer.request('tools/call', { name: 'wait', arguments: {} }, { signal: stop.signal });
    await isRunning;
    stop.abort();
    await call;
    await expect
      .poll(() => [version, ...crib.rowsOf('wait').slice(before).map(gist)], { timeout: 5_000 })
      .toEqual([version, ['intent'], ['outcome', 'cancelled']]);
  }
});

test('a handler that succeeds after its call was cancelled still gets an outcome on record', async () => {
  const go = deferred<string>();
  const started = deferred();
  const tool = defineTool({ name: 'stubborn', description: 'Does not listen.' }, () => {
    started.resolve();
    return go.promise;
  });
  const crib = await openCrib({ offers: [tool] });
  const peer = await crib.connect('ada');
  const stop = new AbortController();
  const call = peer.request('tools/call', { name: 'stubborn', arguments: {} }, { signal: stop.signal });
  await started.promise;
  stop.abort();
  await call;
  go.resolve('done after all');
  await expect
    .poll(() => crib.rowsOf('stubborn').map(({ kind }) => kind), { timeout: 5_000 })
    .toEqual(['intent', 'outcome']);
});

test('resources, prompts and completions are limited and recorded like tools, in every revision', async () => {
  const offers = [
    defineResource({ uri: 'note://a', name: 'note' }, () => 'A'),
    defineResourceTemplate(
      { uriTemplate: 'page://{id}', name: 'page', complete: { id: () => ['1'] } },
      ({ id }) => id!,
    ),
    definePrompt({ name: 'greet', arguments: { who: { complete: () => ['you'] } } }, () => 'Hello.'),
    definePrompt({ name: 'broken' }, () => {
      throw new Error('boom');
    }),
  ];
  const requests: [string, Json][] = [
    ['resources/read', { uri: 'note://a' }],
    ['resources/read', { uri: 'page://7' }],
    ['prompts/get', { name: 'greet' }],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } },
    ],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'page://{id}' }, argument: { name: 'id', value: '' } },
    ],
  ];
  const crib = await openCrib({ offers });
  for (const version of versions) {
    const before = crib.rows().length;
    const peer = await crib.connect('ada', { version });
    for (const [method, params] of requests) await peer.result(method, params);
    await peer.error('prompts/get', { name: 'broken' });
    const who = { kind: 'call', caller: 'ada', protocol: version, outcome: 'done', decision: 'allowed' };
    expect(crib.rows().slice(before)).toMatchObject([
      { ...who, resource: 'note', uri: 'note://a', rule: 'access[0]' },
      { ...who, resource: 'page', uri: 'page://7' },
      { ...who, prompt: 'greet' },
      { ...who, completion: 'greet' },
      { ...who, completion: 'page' },
      { ...who, prompt: 'broken', outcome: 'tool_failed' },
    ]);
  }
  for (const [method, params] of requests) {
    const narrow = await openCrib({ offers, config: { stages: { rateLimit: { perMinute: 1 } } } });
    const peer = await narrow.connect('ada');
    await peer.result(method, params);
    for (const [other, others] of requests)
      expect((await peer.error(other, others)).message).toMatch(/^Too many requests; try again in \d+ s\.$/);
  }
});

test('a refused read is on record: of a hidden resource, and of a prompt that does not exist', async () => {
  const crib = await openCrib({
    offers: [
      defineResource({ uri: 'note://a', name: 'note' }, () => 'A'),
      definePrompt({ name: 'greet' }, () => 'Hello.'),
    ],
    config: { access: [{ roles: ['staff'], prompts: ['*'] }] },
  });
  for (const version of versions) {
    const before = crib.rows().length;
    const peer = await crib.connect('ada', { version });
    await peer.error('resources/read', { uri: 'note://a' });
    await peer.error('prompts/get', { name: 'nobody' });
    await expect
      .poll(() => crib.rows().slice(before), { timeout: 5_000 })
      .toMatchObject([
        { caller: 'ada', uri: 'note://a', decision: 'refused', outcome: 'unknown_resource' },
        { caller: 'ada', prompt: 'nobody', decision: 'refused', outcome: 'unknown_prompt' },
      ]);
  }
});

test('a transient failure is retried only for tools without effects, and is on record once', async () => {
  const runs = { look: 0, act: 0 };
  const flaky = (name: 'look' | 'act', extra: object) =>
    defineTool({ name, description: 'Fails at first.', ...extra }, () => {
      if (++runs[name] === 1) throw new ToolcribError('upstream_unavailable', 'Not now.');
      return 'done';
    });
  const crib = await openCrib({ offers: [flaky('look', reads), flaky('act', {})] });
  const peer = await crib.connect('ada');
  expect((await peer.call('look')).isError ?? false).toBe(false);
  expect((await peer.call('act')).isError).toBe(true);
  expect(runs).toEqual({ look: 2, act: 1 });
  expect(crib.rowsOf('look').map(gist)).toEqual([['call', 'done']]);
  expect(crib.rowsOf('act').map(gist)).toEqual([['intent'], ['outcome', 'upstream_unavailable']]);
});

test('counts that are still being collected when the server stops are on record too', async () => {
  const crib = await openCrib({
    offers: [echo().tool],
    config: { stages: { rateLimit: { perMinute: 1 } } },
  });
  const peer = await crib.connect('ada');
  for (let i = 0; i < 5; i++) await peer.call('echo', { text: 'x' });
  await crib.gateway.close();
  expect(crib.rowsOf('echo')).toMatchObject([{ outcome: 'done' }, { outcome: 'rate_limited', count: 4 }]);
});

test('requests for resources, prompts and completions that may not exist are rate limited like calls (003-20)', async () => {
  const crib = await openCrib({
    offers: [
      echo().tool,
      defineResource({ uri: 'note://a', name: 'note' }, () => 'A'),
      definePrompt({ name: 'greet' }, () => 'Hello.'),
    ],
    config: { stages: { rateLimit: { perMinute: 2 } } },
  });
  const peer = await crib.connect('ada');
  const said: string[] = [];
  for (let n = 0; n < 3; n++) {
    said.push((await peer.error('resources/read', { uri: `note://guess-${n}` })).message);
    said.push((await peer.error('prompts/get', { name: `guess-${n}` })).message);
  }
  expect(said.filter((message) => message.startsWith('Too many requests'))).toHaveLength(4);
});

test('a call that is refused because the server is busy is told when to retry', async () => {
  const [go, started] = [deferred<string>(), deferred()];
  const slow = defineTool({ name: 'slow', description: 'Waits.' }, () => {
    started.resolve();
    return go.promise;
  });
  const crib = await openCrib({
    offers: [slow],
    config: { stages: { concurrency: { perCaller: 1, queue: 0 } } },
  });
  const peer = await crib.connect('ada');
  const first = peer.call('slow');
  await started.promise;
  expect(await peer.call('slow')).toMatchObject({
    isError: true,
    content: [{ text: 'Too many calls are under way; try again in 1 s.' }],
    _meta: { 'dev.toolcrib/error': { code: 'busy', retryAfterMs: 1_000 } },
  });
  go.resolve('done');
  expect((await first).isError ?? false).toBe(false);
});

test('a question that ends the request frees its concurrency slot; a question on an open stream keeps it until answered', async () => {
  const asking = defineTool({ name: 'ask', description: 'Asks.' }, async (_args, { elicit }) => {
    await elicit({ message: 'Sure?', schema: { type: 'object', properties: {} }, key: 'sure' });
    return 'asked';
  });
  const crib = await openCrib({
    offers: [asking, echo().tool],
    config: { stages: { concurrency: { perCaller: 1, perTenant: 1, queue: 0 } } },
  });
  for (const { version, era } of revisions.filter(({ asks }) => asks !== 'not')) {
    const peer = await crib.connect('ada', { version, capabilities: { elicitation: { form: {} } } });
    const other = await crib.connect('ada', { version });
    const meanwhile: unknown[] = [];
    const result = await answerAfter(peer, async () => {
      meanwhile.push((await other.call('echo', { text: 'x' })).isError ?? false);
    });
    expect([version, meanwhile]).toEqual([version, [era === 'legacy']]);
    expect(result).toMatchObject({ content: [{ text: 'asked' }] });
    expect((await other.call('echo', { text: 'x' })).isError ?? false).toBe(false);
  }
});

// Does something else before it answers the question.
async function answerAfter(peer: Peer, first: () => Promise<void>): Promise<Json> {
  const params = { name: 'ask', arguments: {} };
  const accept = { action: 'accept', content: {} };
  const result = await peer.result('tools/call', params, {
    onNotification(message) {
      if (!('id' in message)) return;
      const answer = JSON.stringify({ jsonrpc: '2.0', id: message.id, result: accept });
      void first().then(() => peer.wire.send(answer));
    },
  });
  if (result['resultType'] !== 'input_required') return result;
  await first();
  const { requestState } = result;
  return peer.result('tools/call', { ...params, requestState, inputResponses: { sure: accept } });
}
