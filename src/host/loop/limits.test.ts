import { expect, test } from 'vitest';
import { registryAgent } from '../../../test/host/registry-agent.ts';
import { within } from '../../../test/within.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineTool } from '../../core/tool.ts';
import { createFakeClock } from '../../testing.ts';
import type { Message } from '../models/model.ts';
import { scripted, type ScriptedStep } from '../models/scripted.ts';
import type { RunLimits } from './budget.ts';
import { runAgent } from './run-agent.ts';
import type { AgentRun, RunEvent } from './run-events.ts';

const ECHO = {
  name: 'echo',
  description: 'Says it again.',
  input: { type: 'object', properties: { text: { type: 'string' } } },
} as const;
const echo = defineTool(ECHO, ({ text }) => String(text));
const call = (text: string, name = 'echo') => ({ toolCalls: [{ name, arguments: { text } }] });
const many = (count: number): ScriptedStep[] => Array.from({ length: count }, (_each, at) => call(`t${at}`));

async function limited(limits: RunLimits, steps: readonly ScriptedStep[] = many(20)): Promise<AgentRun> {
  const prices = { scripted: { input: 10, output: 100 } };
  return runAgent(await registryAgent([echo]), { model: scripted(steps), prompt: 'Go.', limits, prices });
}

test.each<[limits: RunLimits, setting: string]>([
  [{ turns: 3 }, 'limits.turns'],
  [{ calls: 3 }, 'limits.calls'],
  [{ tokens: 1_000 }, 'limits.tokens'],
  [{ money: 0.01 }, 'limits.money'],
])('a run ends at the limit %j, and names the setting', async (limits, setting) => {
  const { ending, usage } = await limited({ turns: 100, ...limits });
  expect(ending).toMatchObject({ kind: 'limit', setting, message: expect.stringContaining(setting) });
  expect(usage.turns).toBeLessThan(20);
});

test('calls beyond the limit are not made, and the model is told why', async () => {
  const agent = await registryAgent([echo]);
  const both = { toolCalls: [...call('a').toolCalls, ...call('b').toolCalls] };
  const { ending, messages } = await runAgent(agent, {
    model: scripted([both]),
    prompt: 'Go.',
    limits: { calls: 1 },
  });
  expect(ending).toMatchObject({ kind: 'limit', setting: 'limits.calls' });
  expect(agent.made).toHaveLength(1);
  expect(messages.slice(-2)).toMatchObject([{ isError: false }, { isError: true }]);
});

test('the cost follows the price table, and is unknown without a price', async () => {
  const model = scripted(['Hello.']);
  const priced = await runAgent(await registryAgent([]), {
    model,
    prompt: 'Hi.',
    prices: { scripted: { input: 2, output: 4 } },
  });
  const { inputTokens, outputTokens } = priced.usage;
  expect(priced.usage.money).toBeCloseTo((inputTokens * 2 + outputTokens * 4) / 1e6, 12);
  const free = await runAgent(await registryAgent([]), { model: scripted(['Hello.']), prompt: 'Hi.' });
  expect(free.usage.money).toBeUndefined();
});

test('a cost limit without a price is refused before anything is spent', async () => {
  const model = scripted(['Hello.']);
  const run = runAgent(await registryAgent([]), { model, prompt: 'Hi.', limits: { money: 1 } });
  await expect(run).rejects.toMatchObject({
    code: 'invalid_setup',
    message: expect.stringContaining('price'),
  });
  expect(model.requests).toEqual([]);
});

test('tokens that an endpoint does not report are estimated and marked', async () => {
  const model = scripted(['Hello.']);
  const run = await runAgent(await registryAgent([]), {
    prompt: 'Hi.',
    model: {
      ...model,
      async *respond(request, options) {
        for await (const event of model.respond(request, options))
          yield event.type === 'end'
            ? {
                ...event,
                usage: { inputTokens: undefined, outputTokens: undefined, cachedTokens: undefined },
              }
            : event;
      },
    },
  });
  expect(run.usage).toMatchObject({ isEstimated: true });
  expect(run.usage.inputTokens).toBeGreaterThan(10);
});

test('the same call five times in a row ends the run, and the fifth is not made', async () => {
  const agent = await registryAgent([echo]);
  const steps = Array.from({ length: 9 }, () => call('again'));
  const { ending } = await runAgent(agent, { model: scripted(steps), prompt: 'Go.' });
  expect(ending).toMatchObject({ kind: 'limit', setting: 'limits.repeats' });
  expect(agent.made).toHaveLength(4);
});

test('a different call in between resets that count', async () => {
  const steps = Array.from('aaaabaaaa').map((letter) => call(letter));
  expect((await limited({ turns: 20 }, [...steps, 'Done.'])).ending).toEqual({ kind: 'finished' });
});

test('working time is limited: running calls are stopped at the limit', async () => {
  const clock = createFakeClock();
  const slow = defineTool(ECHO, (_args, { signal }) => {
    const ended = new Promise<string>((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new ToolcribError('cancelled', 'stopped'))),
    );
    clock.advance(30_000);
    return ended;
  });
  const run = runAgent(await registryAgent([slow]), {
    model: scripted([call('x'), 'never']),
    prompt: 'Go.',
    limits: { seconds: 20 },
    clock,
  });
  expect((await within(2_000, 'the end', run)).ending).toMatchObject({
    kind: 'limit',
    setting: 'limits.seconds',
    message: expect.stringContaining('20 seconds'),
  });
});

test('the time in which a person decides does not count as working time', async () => {
  const clock = createFakeClock();
  const asked = defineTool(ECHO, () => {
    clock.advance(5_000);
    return 'allowed';
  });
  const agent = await registryAgent([asked], {
    clock,
    mode: 'strict',
    onToolCall: () => {
      clock.advance(90_000);
      return 'allow';
    },
  });
  const events: RunEvent[] = [];
  const run = await runAgent(agent, {
    model: scripted([call('x'), 'Done.']),
    prompt: 'Go.',
    limits: { seconds: 20 },
    clock,
    onEvent: (event) => events.push(event),
  });
  expect(run).toMatchObject({ ending: { kind: 'finished' }, usage: { ms: 5_000, waitedMs: 90_000 } });
  expect(events.find(({ type }) => type === 'decision:end')).toMatchObject({
    decision: 'allow',
    tool: 'echo',
  });
});

test('old results are removed when the context window fills, with a note on where they are', async () => {
  const long = defineTool(ECHO, () => 'word '.repeat(2_000));
  const model = scripted([
    ...many(4),
    { toolCalls: [{ name: 'read_more', arguments: { id: 'more-1' } }] },
    'Done.',
  ]);
  const events: RunEvent[] = [];
  await runAgent(await registryAgent([long]), {
    model,
    prompt: 'Go.',
    windowTokens: 8_000,
    onEvent: (event) => events.push(event),
  });
  const results = (messages: readonly Message[]) =>
    messages.flatMap((message) => (message.role === 'tool' ? [JSON.stringify(message.content)] : []));
  const seen = results(model.requests[4]!.messages);
  expect(seen[0]).toContain(
    'an old result of echo was taken out to make room; read it again with read_more, id more-1',
  );
  expect(seen.at(-1)).toContain('word word');
  expect(results(model.requests[5]!.messages).at(-1)).toContain('word word');
  expect(events.some((event) => event.type === 'note' && event.text.includes('make room'))).toBe(true);
});

test('an endpoint that rejects the conversation as too long is asked again with old results removed', async () => {
  const long = defineTool(ECHO, () => 'word '.repeat(2_000));
  const tooLong = (): never => {
    throw new ToolcribError('too_large', 'Too long.', { data: { reason: 'context_too_long' } });
  };
  const model = scripted([call('a'), call('b'), tooLong, 'Done.']);
  const run = await runAgent(await registryAgent([long]), { model, prompt: 'Go.' });
  expect(run).toMatchObject({ ending: { kind: 'finished' }, text: 'Done.' });
  expect(JSON.stringify(model.requests[3]!.messages).length).toBeLessThan(
    JSON.stringify(model.requests[2]!.messages).length * 0.7,
  );
});
