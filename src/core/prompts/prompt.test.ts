import { expect, expectTypeOf, test } from 'vitest';
import { content } from '../content.ts';
import type { ToolContext } from '../context.ts';
import {
  checkPromptArguments,
  definePrompt,
  describePrompt,
  toCompletion,
  toMessages,
  unknownPrompt,
} from './prompt.ts';

const context = {} as ToolContext;

const review = definePrompt(
  {
    name: 'review',
    title: 'Review',
    description: 'Reviews code.',
    arguments: {
      code: { title: 'Code', description: 'What to review.', required: true },
      language: { complete: (typed) => ['python', 'typescript'].filter((name) => name.startsWith(typed)) },
    },
  },
  ({ code, language = 'any language' }) => `Review this ${language}: ${code}`,
);

test('a prompt makes its message from its arguments', () => {
  expect(review.get({ code: 'x = 1' }, context)).toBe('Review this any language: x = 1');
});

test('required arguments are text, and others may be missing', () => {
  definePrompt({ name: 'p', arguments: { a: { required: true }, b: {} } }, (args) => {
    expectTypeOf(args.a).toEqualTypeOf<string>();
    expectTypeOf(args.b).toEqualTypeOf<string | undefined>();
    return '';
  });
});

test('only the public members of a prompt are listed', () => {
  expect(describePrompt(review)).toEqual({
    name: 'review',
    title: 'Review',
    description: 'Reviews code.',
    arguments: [
      { name: 'code', title: 'Code', description: 'What to review.', required: true },
      { name: 'language' },
    ],
  });
  const extra = { name: 'p', icons: [], _meta: { a: 1 }, secret: 'key' };
  expect(describePrompt(definePrompt(extra, () => ''))).toEqual({
    name: 'p',
    arguments: [],
    icons: [],
    _meta: { a: 1 },
  });
});

test.each([
  ['', 'A prompt needs a name.'],
  ['a tool', 'The prompt name "a tool" may only hold'],
  ['x'.repeat(65), 'has 65 characters; the limit is 64'],
])('the name "%s" is refused', (name, complaint) => {
  expect(() => definePrompt({ name }, () => '')).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(complaint) }),
  );
});

test('a prompt without a function or with a nameless argument is refused', () => {
  expect(() => definePrompt({ name: 'p' }, undefined as never)).toThrow('Prompt "p": needs a function');
  expect(() => definePrompt({ name: 'p', arguments: { '': {} } }, () => '')).toThrow(
    'Prompt "p": has an argument without a name',
  );
});

test('a prompt gets only the arguments it declares', () => {
  expect(checkPromptArguments(review, { code: 'a', other: 'b' })).toEqual({ code: 'a' });
  expect(
    checkPromptArguments(
      definePrompt({ name: 'p' }, () => ''),
      undefined,
    ),
  ).toEqual({});
});

test('each missing or wrong argument is named', () => {
  expect(() => checkPromptArguments(review, { language: 5 })).toThrow(
    expect.objectContaining({
      code: 'invalid_params',
      message: 'Invalid arguments for review: code: is required; language: must be a string',
    }),
  );
  expect(() => checkPromptArguments(review)).toThrow('code: is required');
  expect(() => checkPromptArguments(review, ['a'])).toThrow('must be an object');
});

test('an inherited member of the arguments does not count as given', () => {
  const odd = definePrompt({ name: 'p', arguments: { toString: { required: true } } }, () => '');
  expect(() => checkPromptArguments(odd, {})).toThrow('toString: is required');
});

const message = { role: 'assistant', content: content.text('Hello') } as const;

test.each<[string, unknown, unknown]>([
  ['text', 'Hi', { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }] }],
  ['a message', message, { messages: [message] }],
  ['messages', [message, message], { messages: [message, message] }],
  [
    'messages and a description',
    { description: 'A chat.', messages: [message] },
    { description: 'A chat.', messages: [message] },
  ],
  ['messages without a description', { messages: [] }, { messages: [] }],
])('a prompt may return %s', (_, value, messages) => {
  expect(toMessages(value)).toEqual(messages);
});

test.each([
  undefined,
  null,
  5,
  {},
  { role: 'system', content: content.text('a') },
  [{ role: 'user', content: 'a' }],
])('a prompt that returns %j is a failure of the server, not a result', (value) => {
  expect(() => toMessages(value)).toThrow(TypeError);
});

test('a completion function gets the typed text', async () => {
  expect(await review.arguments['language']?.complete?.('ty', { arguments: {}, context })).toEqual([
    'typescript',
  ]);
});

test('at most a hundred suggestions are sent, with their total number', () => {
  const many = Array.from({ length: 101 }, (_, index) => `v${index}`);
  expect(toCompletion(many)).toEqual({ values: many.slice(0, 100), total: 101, hasMore: true });
  expect(toCompletion(['a'])).toEqual({ values: ['a'], total: 1, hasMore: false });
  expect(() => toCompletion([1] as never)).toThrow(TypeError);
});

test('the error for an unknown prompt names it', () => {
  expect(unknownPrompt('x')).toMatchObject({
    code: 'unknown_prompt',
    message: 'Unknown prompt: x',
    data: { reason: 'prompt_not_found' },
  });
});
