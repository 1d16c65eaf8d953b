import { expect, test } from 'vitest';
import { content } from './content.ts';
import { failed, toResult } from './result.ts';

test('an object that a handler returns is data (001-07)', () => {
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
])('%s is data (000-21)', (_what, value) => {
  expect(toResult(value)).toEqual({ kind: 'done', data: value });
});

test('a text is one text block (000-21)', () => {
  expect(toResult('plain')).toEqual({ kind: 'done', content: [{ type: 'text', text: 'plain' }] });
});

test('a text is data for a tool whose output schema is text', () => {
  expect(toResult('plain', true)).toEqual({ kind: 'done', data: 'plain' });
});

test('one block is a result of one block (000-21)', () => {
  expect(toResult(content.text('a'))).toEqual({ kind: 'done', content: [{ type: 'text', text: 'a' }] });
});

test('blocks of several kinds keep their order (000-14)', () => {
  const blocks = [content.text('a'), content.image('iVBORw==', 'image/png'), content.text('b')];
  expect(toResult(blocks)).toEqual({ kind: 'done', content: blocks });
});

test('a result may hold text, an image and an embedded resource (003-11)', () => {
  const blocks = [
    content.text('a'),
    content.image('iVBORw==', 'image/png'),
    content.resource({ uri: 'file:///a', text: 'a' }),
  ];
  expect(toResult({ content: blocks })).toEqual({ kind: 'done', content: blocks });
});

test('a whole result is kept, with its metadata and unknown fields (000-21)', () => {
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

test('a whole result may have unknown kinds of block', () => {
  const blocks = [{ type: 'hologram', beam: 1 }];
  expect(toResult({ content: blocks })).toEqual({ kind: 'done', content: blocks });
});

test('a whole result with isError has failed', () => {
  const blocks = [{ type: 'text', text: 'Rate limit exceeded' }];
  expect(toResult({ content: blocks, isError: true })).toEqual({ kind: 'failed', content: blocks });
});

test('a handler that returns nothing succeeds with empty content', () => {
  expect(toResult(undefined)).toEqual({ kind: 'done', content: [] });
});

test.each<[what: string, envelope: object]>([
  ['an error text', { error: 'Invalid timezone', timezone: 'Mars/Base' }],
  ['an error object', { error: { code: 7 } }],
  ['an error with code, message and time', { error: 'E', error_code: 'x', message: 'm', timestamp: 't' }],
  ['success: false', { success: false, error: 'Not found', code: 404 }],
  ['success: false and no reason', { success: false }],
])('an object with %s is wrapped like any other, and the call has failed (001-10)', (_what, envelope) => {
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

test('a failure can be created from a text', () => {
  expect(failed('The page is gone.')).toEqual({
    kind: 'failed',
    content: [{ type: 'text', text: 'The page is gone.' }],
  });
});

test('a resource without text or bytes becomes a link that every client can read (000-17)', () => {
  const resource = { uri: 'file:///docs/guide.pdf', mimeType: 'application/pdf' };
  const link = { type: 'resource_link', name: 'file:///docs/guide.pdf', ...resource };
  const block = { type: 'resource', resource };
  for (const value of [block, [block], { content: [block] }])
    expect(toResult(value)).toEqual({ kind: 'done', content: [link] });
  const whole = { type: 'resource', resource: { ...resource, text: '' } };
  expect(toResult(whole)).toEqual({ kind: 'done', content: [whole] });
});

test('a resource block without a resource is passed on unchanged', () => {
  const blocks = [{ type: 'resource' }];
  expect(toResult({ content: blocks })).toEqual({ kind: 'done', content: blocks });
});
