import { expect, test } from 'vitest';
import { registryAgent } from '../../../test/host/registry-agent.ts';
import { within } from '../../../test/within.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineTool } from '../../core/tool.ts';
import type { Message, ModelRequest, ToolMessage } from '../models/model.ts';
import { scripted, type ScriptedStep } from '../models/scripted.ts';
import { runAgent, streamAgent } from './run-agent.ts';
import type { RunEvent } from './run-events.ts';

const NUMBERS = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const;
const add = defineTool({ name: 'add', description: 'Adds two numbers.', input: NUMBERS }, ({ a, b }) =>
  String(a + b),
);
const broken = defineTool({ name: 'broken', description: 'Fails.' }, () => {
  throw new ToolcribError('tool_failed', 'The table users is not there.');
});
const picture = defineTool({ name: 'picture', description: 'A picture.' }, () => [
  { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' },
]);

const call = (name: string, args: Readonly<Record<string, unknown>> | string = {}) => ({
  toolCalls: [{ name, arguments: args }],
});

function toolMessages(messages: readonly Message[]): readonly ToolMessage[] {
  return messages.filter((message): message is ToolMessage => message.role === 'tool');
}

function textOf({ content }: ToolMessage): string {
  return content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('\n');
}

async function resultOf(step: ScriptedStep, server?: string): Promise<ToolMessage> {
  const agent = await registryAgent([add, broken, picture], server === undefined ? {} : { server });
  const { messages } = await runAgent(agent, { model: scripted([step, 'Done.']), prompt: 'Go.' });
  return toolMessages(messages)[0]!;
}

test('a question is answered by tool calls and then in words', async () => {
  const model = scripted([call('add', { a: 19, b: 23 }), 'It is 42.']);
  const agent = await registryAgent([add]);
  const run = await runAgent(agent, { model, prompt: 'What is 19 + 23?' });
  expect(run).toMatchObject({
    ending: { kind: 'finished' },
    text: 'It is 42.',
    usage: { turns: 2, calls: 1 },
  });
  expect(run.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(textOf(toolMessages(model.requests[1]!.messages)[0]!)).toBe('42');
  expect(agent.made).toEqual([{ name: 'add', args: { a: 19, b: 23 } }]);
});

test('events come in order: the run, its turns, its calls and its end (003-16)', async () => {
  const slow = defineTool({ name: 'slow', description: 'Takes a while.' }, (_args, { progress }) => {
    progress(1, 2, 'half');
    return 'ready';
  });
  const events: RunEvent[] = [];
  await runAgent(await registryAgent([slow], { server: 'depot' }), {
    model: scripted([call('slow'), 'Ready.']),
    prompt: 'Go.',
    onEvent: (event) => events.push(event),
  });
  expect(events.map(({ type }) => type)).toEqual([
    'run:start',
    'message',
    'turn:start',
    'answer',
    'tool:start',
    'tool:progress',
    'tool:end',
    'turn:start',
    'text',
    'answer',
    'run:end',
  ]);
  expect(events.find(({ type }) => type === 'tool:progress')).toMatchObject({
    agent: 'tester',
    tool: 'slow',
    server: 'depot',
    progress: { progress: 1, total: 2, message: 'half' },
  });
  expect(events.find(({ type }) => type === 'tool:end')).toMatchObject({ message: { isError: false } });
});

test('the error text of a tool reaches the model', async () => {
  const message = await resultOf(call('broken'));
  expect(message).toMatchObject({ isError: true });
  expect(textOf(message)).toContain('The table users is not there.');
});

test('an unknown tool name is returned to the model as an error', async () => {
  const message = await resultOf(call('no_such_tool'));
  expect(message).toMatchObject({ isError: true });
  expect(textOf(message)).toContain('no_such_tool');
});

test('arguments that are not JSON are returned to the model as an error, and nothing is called', async () => {
  const agent = await registryAgent([add]);
  const model = scripted([call('add', '{"a": 1'), call('add', { a: 1, b: 2 }), '3']);
  const { messages } = await runAgent(agent, { model, prompt: 'Go.' });
  expect(toolMessages(messages).map(({ isError }) => isError)).toEqual([true, false]);
  expect(textOf(toolMessages(messages)[0]!)).toContain('no JSON object');
  expect(agent.made).toHaveLength(1);
});

test('arguments that break the schema are returned to the model, which can try again', async () => {
  expect(textOf(await resultOf(call('add', { a: 'one' })))).toContain('b');
});

test('C6 results are marked with their server, and images reach a model that accepts them', async () => {
  const message = await resultOf(call('picture'), 'gallery');
  expect(message.content).toMatchObject([
    { type: 'text', text: expect.stringContaining('from the server gallery') },
    { type: 'image', mimeType: 'image/png' },
  ]);
});

test('cancelling stops the request to the model', async () => {
  const stop = new AbortController();
  let wasTold = false;
  const model = scripted([]);
  const run = runAgent(await registryAgent([]), {
    model: {
      ...model,
      async *respond(_request, { signal }) {
        yield { type: 'text', text: 'Well,' };
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            wasTold = true;
            reject(new Error('aborted'));
          });
          stop.abort();
        });
      },
    },
    prompt: 'Go.',
    signal: stop.signal,
  });
  const { ending, text, usage } = await within(2_000, 'the end', run);
  expect({ ending, text }).toEqual({ ending: { kind: 'cancelled' }, text: 'Well,' });
  expect(wasTold).toBe(true);
  // The model was asked and has spoken, whether anybody waited for its end or not.
  expect(usage.inputTokens).toBeGreaterThan(0);
  expect(usage.outputTokens).toBeGreaterThan(0);
  expect(usage.isEstimated).toBe(true);
});

test('cancelling stops every running call, and leaves a conversation that can be continued', async () => {
  const stop = new AbortController();
  let running = 0;
  const stopped: string[] = [];
  const wait = (name: string) =>
    defineTool({ name, description: 'Waits.', annotations: { readOnlyHint: true } }, (_args, { signal }) => {
      const ended = new Promise<string>((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          stopped.push(name);
          reject(signal.reason as Error);
        }),
      );
      if (++running === 2) stop.abort();
      return ended;
    });
  const model = scripted([
    { toolCalls: [call('first').toolCalls[0]!, call('second').toolCalls[0]!, call('third').toolCalls[0]!] },
    'never',
  ]);
  const third = defineTool({ name: 'third', description: 'Writes.' }, () => 'written');
  const agent = await registryAgent([wait('first'), wait('second'), third]);
  const { ending, messages } = await within(
    3_000,
    'the end',
    runAgent(agent, { model, prompt: 'Go.', signal: stop.signal }),
  );
  expect(ending).toEqual({ kind: 'cancelled' });
  expect(stopped.toSorted()).toEqual(['first', 'second']);
  expect(agent.made.map(({ name }) => name)).toEqual(['first', 'second']);
  expect(toolMessages(messages).map(({ isError }) => isError)).toEqual([true, true, true]);
});

test('a run with a signal that is aborted already ends at once', async () => {
  const model = scripted(['never']);
  const run = await runAgent(await registryAgent([]), { model, prompt: 'Go.', signal: AbortSignal.abort() });
  expect(run.ending).toEqual({ kind: 'cancelled' });
});

test('an error of the endpoint is thrown, after the event that ends the run', async () => {
  const events: RunEvent[] = [];
  const failing = runAgent(await registryAgent([]), {
    model: scripted([() => Promise.reject(new ToolcribError('rate_limited', 'Too much.'))]),
    prompt: 'Go.',
    onEvent: (event) => events.push(event),
  });
  await expect(failing).rejects.toMatchObject({ code: 'rate_limited' });
  expect(events.at(-1)).toMatchObject({ type: 'run:end', ending: { kind: 'failed', code: 'rate_limited' } });
});

test('tools change only between turns, and unchanged ones keep their bytes', async () => {
  const agent = await registryAgent([add, broken]);
  const model = scripted([
    () => {
      agent.registry.registerTool(picture);
      return call('add', { a: 1, b: 1 });
    },
    'Done.',
  ]);
  await runAgent(agent, { model, prompt: 'Go.' });
  const [first, second] = model.requests.map(({ tools }) => tools.map((tool) => JSON.stringify(tool)));
  expect(first!.some((text) => text.includes('"picture"'))).toBe(false);
  expect(second!.slice(0, first!.length)).toEqual(first);
  expect(second!.at(-1)).toContain('"picture"');
});

test('definitions that take too much room are held back, and can be found with search_tools and called', async () => {
  const many = Array.from({ length: 30 }, (_each, index) =>
    defineTool(
      { name: `report_${index}`, description: `Report number ${index}. ${'x'.repeat(200)}` },
      () => `r${index}`,
    ),
  );
  const model = scripted([
    (request) => {
      expect(request.tools.map(({ name }) => name)).not.toContain('report_7');
      expect(lastUserText(request)).toContain('report_7');
      return call('search_tools', { names: ['report_7'] });
    },
    (request) => {
      expect(request.tools.map(({ name }) => name)).toContain('report_7');
      return call('report_7');
    },
    'r7 it is.',
  ]);
  const agent = await registryAgent(many, { server: 'reports' });
  const run = await runAgent(agent, { model, prompt: 'Go.', maxToolTokens: 500 });
  expect(run).toMatchObject({ text: 'r7 it is.', usage: { calls: 1 } });
  expect(agent.made).toEqual([{ name: 'report_7', args: {} }]);
});

test('structured output is checked, and the model gets one more attempt with the error', async () => {
  const outputSchema = {
    type: 'object',
    properties: { sum: { type: 'number' } },
    required: ['sum'],
  } as const;
  const ask = async (steps: readonly ScriptedStep[]) => {
    const model = scripted(steps);
    return { model, run: runAgent(await registryAgent([]), { model, prompt: 'Go.', outputSchema }) };
  };
  const good = await ask(['```json\n{"sum": 42}\n```']);
  expect(await good.run).toMatchObject({ ending: { kind: 'finished' }, output: { sum: 42 } });
  const second = await ask(['It is 42.', '{"sum": 42}']);
  expect(await second.run).toMatchObject({ output: { sum: 42 }, usage: { turns: 2 } });
  expect(lastUserText(second.model.requests[1]!)).toContain('must be JSON');
  const bad = await ask(['{"sum": "42"}', '{}']);
  expect(await bad.run).toMatchObject({
    ending: { kind: 'invalid_output', message: expect.stringContaining('sum') },
    output: undefined,
    usage: { turns: 2 },
  });
});

test('an answer that was refused or cut off says so', async () => {
  const end = async (step: ScriptedStep) =>
    (await runAgent(await registryAgent([]), { model: scripted([step]), prompt: 'Go.' })).ending;
  expect(await end({ text: 'No.', stopReason: 'refused' })).toEqual({ kind: 'refused', message: 'No.' });
  expect(await end({ text: 'On', stopReason: 'length' })).toMatchObject({
    kind: 'limit',
    setting: 'model.maxOutputTokens',
  });
});

test('events can be read one by one, and leaving the loop cancels the run', async () => {
  const seen: string[] = [];
  for await (const event of streamAgent(await registryAgent([add]), {
    model: scripted([call('add', { a: 1, b: 1 }), 'Two.']),
    prompt: 'Go.',
  }))
    seen.push(event.type);
  expect(seen.at(-1)).toBe('run:end');

  let endings: unknown;
  const events = streamAgent(await registryAgent([add]), {
    model: scripted([call('add', { a: 1, b: 1 }), call('add', { a: 1, b: 2 }), 'never']),
    prompt: 'Go.',
    onEvent: (event) => (endings = event),
  });
  for await (const event of events) if (event.type === 'tool:start') break;
  expect(endings).toMatchObject({ type: 'run:end', ending: { kind: 'cancelled' } });
});

function lastUserText({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'user');
  return last?.role === 'user'
    ? last.content.map((part) => ('text' in part ? part.text : '')).join('\n')
    : '';
}
