import { expect, test } from 'vitest';
import type { ToolContext } from '../context.ts';
import {
  defineResource,
  defineResourceTemplate,
  describeResource,
  describeTemplate,
  resourceNotFound,
  toContents,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from './resource.ts';

const context = {} as ToolContext;

test('a resource reads its content on request', () => {
  const inbox = defineResource({ uri: 'note://inbox', name: 'inbox' }, (uri) => `read ${uri}`);
  expect(inbox.read('note://inbox', context)).toBe('read note://inbox');
});

test('a template reads with the values of its variables', () => {
  const notes = defineResourceTemplate(
    { uriTemplate: 'note://{id}', name: 'notes' },
    ({ id }, _context, uri) => `${uri} is ${id}`,
  );
  expect(notes.template.match('note://7')).toEqual({ id: '7' });
  expect(notes.read({ id: '7' }, context, 'note://7')).toBe('note://7 is 7');
});

test('only the public members of a resource are listed', () => {
  const shown = {
    uri: 'note://inbox',
    name: 'inbox',
    title: 'Inbox',
    description: 'New notes.',
    mimeType: 'text/plain',
    size: 0,
    annotations: { audience: ['user'], priority: 1 },
    icons: [{ src: 'https://example.com/i.png' }],
    _meta: { a: 1 },
  } satisfies ResourceDefinition;
  const definition = { ...shown, secret: 'key' };
  expect(describeResource(defineResource(definition, () => ''))).toEqual(shown);
  expect(describeResource(defineResource({ uri: 'a:b', name: 'b', annotations: {} }, () => ''))).toEqual({
    uri: 'a:b',
    name: 'b',
  });
});

test('only the public members of a template are listed', () => {
  const shown = { uriTemplate: 'note://{id}', name: 'notes', mimeType: 'text/plain' };
  const notes = defineResourceTemplate({ ...shown, complete: { id: () => [] } }, () => '');
  expect(describeTemplate(notes)).toEqual(shown);
});

test('an annotation may hold a date', () => {
  const lastModified = new Date(0);
  const old = defineResource({ uri: 'a:b', name: 'b', annotations: { lastModified } }, () => '');
  expect(old.annotations).toEqual({ lastModified: '1970-01-01T00:00:00.000Z' });
});

test.each<[string, Partial<ResourceDefinition>, string]>([
  ['no name', { name: ' ' }, 'Resource " ": needs a name'],
  [
    'no scheme',
    { uri: '/inbox' },
    'Resource "x": needs an absolute URI with a scheme, such as "note://inbox", not "/inbox".',
  ],
  ['only a scheme', { uri: 'note:' }, 'needs an absolute URI'],
  ['a variable', { uri: 'note://{id}' }, 'use defineResourceTemplate'],
  ['a space', { uri: 'note://a b' }, 'write it as "%20"'],
  ['a size in parts of bytes', { size: 1.5 }, 'needs a size in whole bytes, not 1.5'],
  ['an audience nobody knows', { annotations: { audience: ['model' as 'user'] } }, '"user" and "assistant"'],
])('a resource with %s is refused', (_, wrong, complaint) => {
  expect(() => defineResource({ uri: 'note://x', name: 'x', ...wrong }, () => '')).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(complaint) }),
  );
});

test.each<[string, Partial<ResourceTemplateDefinition>, string]>([
  ['no scheme', { uriTemplate: '{+uri}' }, 'Resource "x": needs a URI template that begins with a scheme'],
  ['no variable', { uriTemplate: 'note://inbox' }, 'use defineResource'],
  [
    'a broken template',
    { uriTemplate: 'note://{id' },
    'Resource "x": The URI template "note://{id" opens a "{"',
  ],
  [
    'suggestions for a stranger',
    { complete: { name: () => [] } },
    'completes "name", which is none of its variables (id)',
  ],
])('a template with %s is refused', (_, wrong, complaint) => {
  expect(() => defineResourceTemplate({ uriTemplate: 'note://{id}', name: 'x', ...wrong }, () => '')).toThrow(
    expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(complaint) }),
  );
});

test('a resource without a function is refused', () => {
  expect(() => defineResource({ uri: 'a:b', name: 'b' }, undefined as never)).toThrow(
    'needs a function that reads it',
  );
});

const origin = { uri: 'note://1', mimeType: 'text/markdown' };

test.each<[string, unknown, unknown]>([
  ['text', '# Hi', [{ ...origin, text: '# Hi' }]],
  ['empty text', '', [{ ...origin, text: '' }]],
  ['bytes', new Uint8Array([104, 105]), [{ ...origin, blob: 'aGk=' }]],
  ['a piece', { text: 'a' }, [{ ...origin, text: 'a' }]],
  [
    'a piece with its own type',
    { mimeType: 'a/b', blob: Buffer.from('hi') },
    [{ uri: 'note://1', mimeType: 'a/b', blob: 'aGk=' }],
  ],
  [
    'pieces',
    [{ uri: 'note://1/a', text: 'a' }, { blob: 'aGk=' }],
    [
      { ...origin, uri: 'note://1/a', text: 'a' },
      { ...origin, blob: 'aGk=' },
    ],
  ],
  ['no pieces', [], []],
])('a read may return %s', (_, value, contents) => {
  expect(toContents(value, origin)).toEqual(contents);
});

test('content without a known media type has none', () => {
  expect(toContents('a', { uri: 'a:b' })).toEqual([{ uri: 'a:b', text: 'a' }]);
});

test.each([undefined, null])('a read that returns %s means that there is no such resource', (nothing) => {
  expect(() => toContents(nothing, origin)).toThrow(
    expect.objectContaining({ code: 'unknown_resource', data: { uri: 'note://1' } }),
  );
});

test.each<[string, unknown]>([
  ['a number', 5],
  ['an object without content', { uri: 'a:b' }],
  ['a list of text', ['a']],
  ['a blob that is not base64', { blob: 'no!' }],
])('a read that returns %s is a failure of the server, not a result', (_, value) => {
  expect(() => toContents(value, origin)).toThrow(TypeError);
});

test('the error for an unknown resource names it', () => {
  expect(resourceNotFound('note://9')).toMatchObject({
    code: 'unknown_resource',
    message: 'Unknown resource: note://9',
    data: { uri: 'note://9' },
  });
});
