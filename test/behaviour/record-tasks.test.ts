import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  createServer,
  defineTool,
  localCaller,
  ToolcribError,
  ToolRegistry,
  withStages,
  type Refusal,
  type Tool,
} from '../../src/index.ts';
import { audit, type Entry, type Journal } from '../../src/stages.ts';
import { deferred } from './deferred.ts';
import { modernMeta, type Answer, type Json } from './peer.ts';

const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A journal whose first row is on the disk, or is not, when the test says so. */
class SlowJournal implements Journal {
  readonly rows: Json[] = [];
  readonly isReady = true;
  readonly first = deferred<'written' | 'failed' | 'late'>();
  #isFirst = true;

  async append({ body }: Entry): Promise<void> {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const how = isFirst ? await this.first.promise : 'written';
    if (how !== 'failed') this.rows.push(JSON.parse(body) as Json);
    if (how !== 'written') throw new ToolcribError('record_unavailable', 'The disk does not respond.');
  }

  async commit(entry: Entry): Promise<'committed'> {
    await this.append(entry);
    return 'committed';
  }
}

/** A server whose only tool reads, and becomes a task. */
function setUp(work: Tool['handler']) {
  const journal = new SlowJournal();
  const refusals: Refusal[] = [];
  const annotations = { readOnlyHint: true };
  const watch = defineTool({ name: 'watch', description: 'Goes on.', annotations }, async (args, context) => {
    context.detach();
    return work(args, context);
  });
  const stage = audit({}, { journal, digestKey: 'k'.repeat(43) });
  const source = withStages(new ToolRegistry().registerTool(watch), [stage]);
  const onRefusal = (refusal: Refusal): void => void refusals.push(refusal);
  const server = createServer({ name: 'test', version: '1', source, onRefusal });
  const ask = async (method: string, params: Json): Promise<Answer> => {
    const whole = { ...params, _meta: modernMeta(undefined, capabilities) };
    const message = { jsonrpc: '2.0', id: 1, method, params: whole } as const;
    return (await server.handle(message, { caller: localCaller })) as unknown as Answer;
  };
  return {
    journal,
    refusals,
    stage,
    ask,
    call: () => ask('tools/call', { name: 'watch', arguments: {} }),
    facts: () => journal.rows.map(({ kind, decision, outcome }) => [kind, decision, outcome]),
  };
}

const ended = [
  ['intent', 'allowed', undefined],
  ['outcome', undefined, 'done'],
];

test('R3 the task handle of a read-only call is sent only after the call is on record', async () => {
  const go = deferred<string>();
  const { journal, ask, call, facts } = setUp(() => go.promise);
  let answer: Answer | undefined;
  const answered = call().then((given) => (answer = given));
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  expect(answer).toBeUndefined();
  journal.first.resolve('written');
  const { taskId, resultType } = (await answered).result;
  expect(resultType).toBe('task');
  expect(facts()).toEqual([ended[0]]);
  go.resolve('done');
  await expect.poll(async () => (await ask('tasks/get', { taskId })).result['status']).toBe('completed');
  expect(facts()).toEqual(ended);
  expect(new Set(journal.rows.map((row) => row['call'])).size).toBe(1);
});

test('a task that ends before its intent is written has its outcome after the intent', async () => {
  const { journal, call, facts } = setUp(async () => 'done');
  const answered = call();
  for (let turn = 0; turn < 10; turn++) await setImmediate();
  expect(facts()).toEqual([]);
  journal.first.resolve('written');
  await answered;
  await expect.poll(facts).toEqual(ended);
});

test.each(['failed', 'late'] as const)(
  'R3 a call without a written intent (%s) gets no task handle: it is stopped, with one outcome',
  async (how) => {
    let signal: AbortSignal | undefined;
    const { journal, refusals, call, facts } = setUp((_args, context) => {
      signal = context.signal;
      return new Promise(() => {});
    });
    const answered = call();
    journal.first.resolve(how);
    expect((await answered).error).toMatchObject({ code: -32603, message: 'The disk does not respond.' });
    expect(signal!.reason).toMatchObject({ code: 'record_unavailable' });
    // It is unknown whether the intent was written: the outcome ends it, and has all of its members.
    const outcome = ['outcome', 'allowed', 'record_unavailable'];
    expect(facts()).toEqual(how === 'late' ? [ended[0], outcome] : [outcome]);
    expect(journal.rows.at(-1)).toMatchObject({ tool: 'watch', arguments: expect.any(String), policy: '' });
    expect(refusals).toEqual([]);
  },
);

test('a call that is cut off while its intent is written is on record as cancelled', async () => {
  const { journal, call, facts, stage } = setUp(() => new Promise(() => {}));
  const answered = call();
  await setImmediate();
  stage.close();
  journal.first.resolve('written');
  await answered;
  expect(new Map(facts().map(([kind, ...rest]) => [kind, rest]))).toEqual(
    new Map([
      ['intent', ['allowed', undefined]],
      ['outcome', [undefined, 'cancelled']],
    ]),
  );
});
