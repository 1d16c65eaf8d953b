import { expect, test } from 'vitest';
import { content } from './content.ts';
import { failed, toResult } from './result.ts';

test('001-07 an object a handler returns is data', () => {
  expect(toResult({ status: 'pong' })).toEqual({ kind: 'done', data: { status: 'pong' } });
});

test.each<[what: string, value: unknown]>([
  ['a list of objects', [{ id: 1 }, { id: 2 }]],
  ['an empty list', []],
  ['a list that is only partly blocks', [{ type: 'text', text: 'a' }, 7]],
  ['a number', 42],
  ['false', false],
  ['null', null],
  ['an object that only looks like a block', { type: 'text', title: 'a' }],
  ['an object that only looks like a result', { content: 'a' }],
])('000-21 %s is data', (_what, value) => {
  expect(toResult(value)).toEqual({ kind: 'done', data: value });
});

test('000-21 a text is one text block', () => {
  expect(toResult('plain')).toEqual({ kind: 'done', content: [{ type: 'text', text: 'plain' }] });
});

test('a text is data for a tool that promises text', () => {
  expect(toResult('plain', true)).toEqual({ kind: 'done', data: 'plain' });
});

test('000-21 one block is a result of one block', () => {
  expect(toResult(content.text('a'))).toEqual({ kind: 'done', content: [{ type: 'text', text: 'a' }] });
});

test('000-14 blocks of several kinds stay in their order', () => {
  const blocks = [content.text('a'), content.image('iVBORw==', 'image/png'), content.text('b')];
  expect(toResult(blocks)).toEqual({ kind: 'done', content: blocks });
});

test('003-11 a result may hold text, an image and an embedded resource', () => {
  const blocks = [
    content.text('a'),
    content.image('iVBORw==', 'image/png'),
    content.resource({ uri: 'file:///a', text: 'a' }),
  ];
  expect(toResult({ content: blocks })).toEqual({ kind: 'done', content: blocks });
});

test('000-21 a whole result is kept, with its metadata and fields nobody knows yet', () => {
  const whole = {
    content: [{ type: 'text', text: 'a' }],
    structuredContent: { a: 1 },
    isError: false,
    _meta: { 'acme/took': 3 },
    later: true,
  };
  expect(toResult(whole)).toEqual({
    kind: 'done',
    content: whole.content,
    data: { a: 1 },
    meta: { 'acme/took': 3 },
    extra: { later: true },
  });
});

test('a whole result may hold kinds of block that are yet to be invented', () => {
  const blocks = [{ type: 'hologram', beam: 1 }];
  expect(toResult({ content: blocks })).toEqual({ kind: 'done', content: blocks });
});

test('a whole result that says it is an error has failed', () => {
  const blocks = [{ type: 'text', text: 'Rate limit exceeded' }];
  expect(toResult({ content: blocks, isError: true })).toEqual({ kind: 'failed', content: blocks });
});

test('a handler that returns nothing is done, with nothing to say', () => {
  expect(toResult(undefined)).toEqual({ kind: 'done', content: [] });
});

test.each<[what: string, envelope: object]>([
  ['an error text', { error: 'Invalid timezone', timezone: 'Mars/Base' }],
  ['an error object', { error: { code: 7 } }],
  ['an error with code, message and time', { error: 'E', error_code: 'x', message: 'm', timestamp: 't' }],
  ['success: false', { success: false, error: 'Not found', code: 404 }],
  ['success: false and no reason', { success: false }],
])('001-10 an object with %s is wrapped like any other, and the call has failed', (_what, envelope) => {
  expect(toResult(envelope)).toEqual({ kind: 'failed', data: envelope });
});

test.each<[what: string, envelope: object]>([
  ['a null error', { error: null, rows: [] }],
  ['an absent error', { error: undefined, rows: [] }],
  ['a false error', { error: false }],
  ['success: true', { success: true, data: {} }],
])('an object with %s is a success', (_what, envelope) => {
  expect(toResult(envelope)).toEqual({ kind: 'done', data: envelope });
});

test('a failure can be said in words', () => {
  expect(failed('The page is gone.')).toEqual({
    kind: 'failed',
    content: [{ type: 'text', text: 'The page is gone.' }],
  });
});
