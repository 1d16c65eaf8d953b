import { describe, expect, test } from 'vitest';
import type { Call, CompletionCall, PromptCall, ResourceCall, ToolCall } from './call.ts';
import { localCaller } from './caller.ts';
import { Cancellation } from '../base/cancellation.ts';
import type { ToolContext } from './context.ts';
import { ToolcribError } from '../base/errors.ts';
import { Interview } from './interview.ts';
import { CallRecord } from './record.ts';
import { definePrompt, type Prompt } from './prompts/prompt.ts';
import {
  defineResource,
  defineResourceTemplate,
  type Resource,
  type ResourceTemplate,
} from './resources/resource.ts';
import type { Result } from './result.ts';
import { runLocally } from './run-locally.ts';
import type { Tool } from './tool.ts';

const sure = {
  message: 'Sure?',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
} as const;

describe('the result of each kind of call', () => {
  test('a tool result is synchronous if its handler is', () => {
    expect(runLocally(toolCall(() => ({ a: 1 })))).toEqual({ kind: 'done', data: { a: 1 } });
  });

  test('a tool result is asynchronous if its handler is, with any kind of promise', async () => {
    const thenable = { then: (resolve: (value: unknown) => void) => resolve('later') };
    const later = { kind: 'done', content: [{ type: 'text', text: 'later' }] };
    expect(await runLocally(toolCall(() => Promise.resolve('later')))).toEqual(later);
    expect(await runLocally(toolCall(() => thenable))).toEqual(later);
  });

  test('a resource read returns its contents', async () => {
    const note = defineResource({ uri: 'note://a', name: 'a', mimeType: 'text/plain' }, (uri) => `at ${uri}`);
    expect(await runLocally(resourceCall(note, 'note://a'))).toEqual({
      kind: 'done',
      data: { contents: [{ uri: 'note://a', mimeType: 'text/plain', text: 'at note://a' }] },
    });
  });

  test('a template read returns the contents for its variables', async () => {
    const notes = defineResourceTemplate({ uriTemplate: 'note://{id}', name: 'notes' }, ({ id }) => `#${id}`);
    const call = { ...resourceCall(notes, 'note://7'), variables: { id: '7' } };
    expect(await runLocally(call)).toEqual({
      kind: 'done',
      data: { contents: [{ uri: 'note://7', text: '#7' }] },
    });
  });

  test('a prompt returns its messages, after its arguments are checked', async () => {
    const review = definePrompt(
      { name: 'review', arguments: { code: { required: true } } },
      ({ code }) => code,
    );
    expect(await runLocally(promptCall(review, { code: 'x', other: 'y' }))).toEqual({
      kind: 'done',
      data: { messages: [{ role: 'user', content: { type: 'text', text: 'x' } }] },
    });
    await expect(runLocally(promptCall(review, {}))).rejects.toMatchObject({
      code: 'invalid_params',
      message: 'Invalid arguments for review: code: is required',
    });
  });

  test('a completion returns suggestions for the argument, with regard to the values chosen before', async () => {
    const plan = definePrompt(
      {
        name: 'plan',
        arguments: {
          city: { complete: (value, { arguments: chosen }) => [`${value} in ${chosen['land']}`] },
        },
      },
      () => '',
    );
    expect(await runLocally(completionCall(plan, 'city', { land: 'Norway' }))).toEqual({
      kind: 'done',
      data: { values: ['Os in Norway'], total: 1, hasMore: false },
    });
  });

  test('a template variable can be completed, too', async () => {
    const notes = defineResourceTemplate(
      { uriTemplate: 'note://{id}', name: 'notes', complete: { id: () => ['1', '2'] } },
      () => '',
    );
    expect(await runLocally(completionCall(notes, 'id'))).toMatchObject({ data: { values: ['1', '2'] } });
  });

  test.each(['text', 'missing', 'constructor', '__proto__'])(
    'there are no suggestions for the argument "%s"',
    async (name) => {
      const plain = definePrompt({ name: 'plain', arguments: { text: {} } }, () => '');
      expect(await runLocally(completionCall(plain, name))).toEqual({
        kind: 'done',
        data: { values: [], total: 0, hasMore: false },
      });
    },
  );
});

describe('unexpected failures', () => {
  const cause = new Error('connect ECONNREFUSED 10.0.0.7:5432');
  const fail = (): never => {
    throw cause;
  };

  test.each<[kind: string, call: Call]>([
    ['a tool', toolCall(fail)],
    ['a tool that fails later', toolCall(() => Promise.reject(cause))],
    ['a resource', resourceCall(defineResource({ uri: 'x:a', name: 'broken' }, fail), 'x:a')],
    ['a prompt', promptCall(definePrompt({ name: 'broken' }, fail), {})],
    [
      'a completion',
      completionCall(definePrompt({ name: 'broken', arguments: { a: { complete: fail } } }, fail), 'a'),
    ],
  ])('%s that throws reveals only an incident id', async (_kind, call) => {
    await expect(run(call)).rejects.toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(/^broken failed unexpectedly \(incident [0-9a-f]{8}\)\.$/),
      cause,
    });
  });

  test('a thrown value that is not an error is an unexpected failure as well, even undefined', async () => {
    const odd = toolCall(async () => raise(undefined));
    const error: unknown = await run(odd).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'tool_failed', incident: expect.any(String) });
    expect(error).toHaveProperty('cause', undefined);
  });

  test('an error that was written for the caller is returned unchanged', async () => {
    const refusal = new ToolcribError('unknown_resource', 'Unknown resource: x:a');
    const call = resourceCall(
      defineResource({ uri: 'x:a', name: 'a' }, () => Promise.reject(refusal)),
      'x:a',
    );
    await expect(run(call)).rejects.toBe(refusal);
  });

  test.each<[what: string, call: Call]>([
    [
      'a read',
      resourceCall(
        defineResource({ uri: 'x:a', name: 'odd' }, () => 7 as never),
        'x:a',
      ),
    ],
    [
      'a prompt',
      promptCall(
        definePrompt({ name: 'odd' }, () => 7 as never),
        {},
      ),
    ],
    [
      'a completion',
      completionCall(
        definePrompt({ name: 'odd', arguments: { a: { complete: () => 7 as never } } }, () => ''),
        'a',
      ),
    ],
  ])('%s that returns an invalid value is an unexpected failure', async (_what, call) => {
    await expect(run(call)).rejects.toMatchObject({ code: 'tool_failed', cause: expect.any(TypeError) });
  });
});

describe('questions', () => {
  test('a question ends the run, with the answers used so far', async () => {
    const answered = { action: 'accept', content: { ok: true } };
    const call = {
      ...toolCall(async (_args, { elicit }) => {
        await elicit(sure);
        await elicit({ ...sure, key: 'really' });
      }),
      record: new CallRecord(),
      interview: new Interview(new Map([['question-1', answered]])),
    };
    expect(await runLocally(call)).toEqual({
      kind: 'needs_input',
      questions: new Map([['really', expect.objectContaining({ kind: 'form', message: 'Sure?' })]]),
      answers: new Map([['question-1', answered]]),
    });
  });

  test.each<[what: string, handler: Tool['handler']]>([
    ['swallows it', (_args, { elicit }) => elicit(sure).catch(() => 'went on')],
    ['does not wait for it', (_args, { elicit }) => (void elicit(sure), 'went on')],
    [
      'fails over it in another way',
      (_args, { elicit }) =>
        elicit(sure).catch(() => {
          throw new Error('went wrong');
        }),
    ],
  ])('a question ends the run even if the handler %s', async (_what, handler) => {
    expect(await runLocally(toolCall(handler))).toMatchObject({ kind: 'needs_input' });
  });

  test('resources and prompts may ask questions, too', async () => {
    const ask = async (context: ToolContext): Promise<string> => (await context.elicit(sure)).action;
    const note = defineResource({ uri: 'x:a', name: 'a' }, (_uri, context) => ask(context));
    const plan = definePrompt({ name: 'a' }, (_args, context) => ask(context));
    expect(await runLocally(resourceCall(note, 'x:a'))).toMatchObject({ kind: 'needs_input' });
    expect(await runLocally(promptCall(plan, {}))).toMatchObject({ kind: 'needs_input' });
  });
});

describe('cleanup functions', () => {
  test.each<[ending: string, end: (context: ToolContext) => unknown]>([
    ['a success', () => 'done'],
    ['a success later', () => Promise.resolve('done')],
    [
      'a failure',
      () => {
        throw new Error('broken');
      },
    ],
    ['a failure later', () => Promise.reject(new Error('broken'))],
    ['a question', (context) => context.elicit(sure)],
    ['a swallowed question', (context) => context.elicit(sure).catch(() => 'done')],
  ])('run once, the last one first, after %s', async (_ending, end) => {
    const ran: string[] = [];
    const call = toolCall((_args, context) => {
      context.onCleanup(() => ran.push('first'));
      context.onCleanup(() => ran.push('second'));
      return end(context);
    });
    await run(call).catch(() => {});
    await Promise.resolve();
    expect(ran).toEqual(['second', 'first']);
  });

  test('do not change how the call ended', async () => {
    const call = toolCall((_args, { onCleanup }) => {
      onCleanup(() => {
        throw new Error('late');
      });
      return 'done';
    });
    expect(await runLocally(call)).toMatchObject({ kind: 'done' });
  });
});

function raise(reason: unknown): never {
  throw reason;
}

async function run(call: Call): Promise<Result> {
  return runLocally(call);
}

function base(): Omit<ToolCall, 'kind' | 'tool' | 'arguments'> {
  return {
    caller: localCaller,
    client: { name: undefined, version: undefined, protocolVersion: undefined, capabilities: {} },
    meta: {},
    cancellation: new Cancellation(),
    record: new CallRecord(),
    interview: new Interview(),
    voice: {},
  };
}

function toolCall(handler: Tool['handler']): ToolCall {
  const inputSchema = { type: 'object', properties: {} } as const;
  const tool: Tool = { name: 'broken', description: 'Breaks.', inputSchema, handler };
  return { ...base(), kind: 'tool', tool, arguments: {} };
}

function resourceCall(resource: Resource | ResourceTemplate, uri: string): ResourceCall {
  return { ...base(), kind: 'resource', resource, uri, variables: {} };
}

function promptCall(prompt: Prompt, args: Record<string, string>): PromptCall {
  return { ...base(), kind: 'prompt', prompt, arguments: args };
}

function completionCall(
  target: Prompt | ResourceTemplate,
  name: string,
  chosen: Record<string, string> = {},
): CompletionCall {
  return { ...base(), kind: 'completion', target, argument: { name, value: 'Os' }, chosen };
}
