import * as fc from 'fast-check';
import { expect, expectTypeOf, test } from 'vitest';
import { content, isContentBlock, type ContentBlock } from './content.ts';

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);

test('a text block holds its text (000-15)', () => {
  expect(content.text('Search completed. Found 5 results.')).toEqual({
    type: 'text',
    text: 'Search completed. Found 5 results.',
  });
});

test('an image block is made from bytes or from base64 text (000-16)', () => {
  const block = { type: 'image', data: 'iVBORw==', mimeType: 'image/png' };
  expect(content.image(png, 'image/png')).toEqual(block);
  expect(content.image('iVBORw==', 'image/png')).toEqual(block);
});

test.each(['not base64!', 'abc', 'ab=c', '====', 'aGk=\n', 'iVBORw'])(
  'an image given as the text %j, which is not base64, is refused (000-16)',
  (data) => {
    expect(() => content.image(data, 'image/png')).toThrow('must be base64; pass a Uint8Array for raw bytes');
  },
);

test('a part of a larger buffer is encoded without the rest (000-16)', () => {
  expect(content.image(png.subarray(1, 3), 'image/png').data).toBe('UE4=');
});

test('a list may have blocks of several kinds, told apart by type (000-14)', () => {
  const blocks: ContentBlock[] = [content.text('a'), content.image(png, 'image/png'), content.text('b')];
  expect(blocks.map((block) => (block.type === 'text' ? block.text : block.type))).toEqual([
    'a',
    'image',
    'b',
  ]);
  expectTypeOf<ContentBlock['type']>().toEqualTypeOf<
    'text' | 'image' | 'audio' | 'resource_link' | 'resource'
  >();
});

test('a text block can name its audience and its priority (002-12, 002-13, 004-07)', () => {
  expect(content.text('Tool result text', { audience: ['user'], priority: 0.8 })).toEqual({
    type: 'text',
    text: 'Tool result text',
    annotations: { audience: ['user'], priority: 0.8 },
  });
});

test('an image block holds base64 data and its media type (004-08)', () => {
  expect(Object.keys(content.image(png, 'image/png'))).toEqual(['type', 'data', 'mimeType']);
});

test('an audio block holds base64 data and its media type (004-09)', () => {
  expect(content.audio(new TextEncoder().encode('RIFF'), 'audio/wav')).toEqual({
    type: 'audio',
    data: 'UklGRg==',
    mimeType: 'audio/wav',
  });
});

test('a resource link holds an address, a name, a description and a media type (004-10)', () => {
  const file = {
    uri: 'file:///project/src/main.rs',
    name: 'main.rs',
    description: 'Primary application entry point',
    mimeType: 'text/x-rust',
  };
  expect(content.resourceLink(file)).toEqual({ type: 'resource_link', ...file });
});

test('an embedded resource keeps the title inside (004-11)', () => {
  const resource = {
    uri: 'file:///project/config.json',
    title: 'Configuration File',
    mimeType: 'application/json',
    text: '{"key": "value"}',
  };
  expect(content.resource(resource)).toEqual({ type: 'resource', resource });
});

test('an embedded resource may hold bytes instead of text (002-16)', () => {
  expect(content.resource({ uri: 'file:///logo.png', mimeType: 'image/png', blob: png })).toEqual({
    type: 'resource',
    resource: { uri: 'file:///logo.png', mimeType: 'image/png', blob: 'iVBORw==' },
  });
  expect(() => content.resource({ uri: 'file:///logo.png', blob: 'not base64!' })).toThrow('must be base64');
});

test('there is a builder for text, image, resource link and embedded resource (002-16)', () => {
  const uri = 'file:///a';
  const blocks = [
    content.text('a'),
    content.image(png, 'image/png'),
    content.resourceLink({ uri, name: 'a' }),
    content.resource({ uri, text: 'a' }),
  ];
  expect(blocks.map(({ type }) => type)).toEqual(['text', 'image', 'resource_link', 'resource']);
  expect(blocks.every(isContentBlock)).toBe(true);
});

test('every kind of block accepts annotations (002-15)', () => {
  const annotations = { audience: ['user', 'assistant'], priority: 1 } as const;
  const blocks = [
    content.text('a', annotations),
    content.image(png, 'image/png', annotations),
    content.audio(png, 'audio/wav', annotations),
    content.resourceLink({ uri: 'file:///a', name: 'a' }, annotations),
    content.resource({ uri: 'file:///a', text: 'a' }, annotations),
    content.table([], annotations),
  ];
  for (const block of blocks) expect(block.annotations).toEqual(annotations);
});

test('the time of the last change is given as a date or as ISO 8601 text (002-14)', () => {
  const iso = '2026-01-12T15:00:58.000Z';
  expect(content.text('a', { lastModified: new Date(iso) }).annotations).toEqual({ lastModified: iso });
  expect(content.text('a', { lastModified: '2026-01-12T15:00:58Z' }).annotations).toEqual({
    lastModified: '2026-01-12T15:00:58Z',
  });
});

test.each(['yesterday', '12 January 2026', '2026-13-01T00:00:00Z', new Date(Number.NaN)])(
  'the time %s, which is not ISO 8601, is refused (002-14)',
  (lastModified) => {
    expect(() => content.text('a', { lastModified })).toThrow('must be an ISO 8601 date');
  },
);

test.each([-0.1, 1.1, Number.NaN])('a priority of %d is refused (002-13)', (priority) => {
  expect(() => content.text('a', { priority })).toThrow('must lie between 0 and 1');
});

test('an audience other than user and assistant is refused (002-12)', () => {
  expect(() => content.text('a', { audience: ['everyone' as 'user'] })).toThrow('"user" and "assistant"');
});

test('rows become a Markdown table (003-07)', () => {
  const rows = [
    { id: 1, name: 'Alice', active: true },
    { id: 2, name: 'Bob', note: { since: 2020 } },
    { id: 3, name: null },
  ];
  expect(content.table(rows)).toEqual({
    type: 'text',
    text: [
      '| id | name | active | note |',
      '| --- | --- | --- | --- |',
      '| 1 | Alice | true |  |',
      '| 2 | Bob |  | {"since":2020} |',
      '| 3 |  |  |  |',
    ].join('\n'),
  });
});

test('a table without rows says so', () => {
  expect(content.table([]).text).toBe('(no rows)');
});

test('a table shows large integers, which databases return', () => {
  expect(content.table([{ id: 9007199254740993n }]).text).toContain('| 9007199254740993 |');
});

test('no cell can break out of the table', () => {
  const cell = fc.oneof(fc.string({ unit: fc.constantFrom('|', '\\', '\n', '\r', 'a', ' ') }), fc.integer());
  fc.assert(
    fc.property(fc.array(fc.record({ one: cell, two: cell }), { minLength: 1 }), (rows) => {
      const lines = content.table(rows).text.split(/\r\n|\r|\n/);
      expect(lines).toHaveLength(rows.length + 2);
      for (const line of lines) expect(bordersOf(line)).toBe(3);
    }),
  );
});

test('no column name can break out of the table', () => {
  expect(content.table([{ 'a|b\nc': 1 }]).text).toBe('| a\\|b<br>c |\n| --- |\n| 1 |');
});

test.each<[what: string, value: unknown]>([
  ['nothing', null],
  ['text', 'text'],
  ['another type', { type: 'video', data: '' }],
  ['a text block without text', { type: 'text' }],
  ['an image without a media type', { type: 'image', data: '' }],
  ['a link without a name', { type: 'resource_link', uri: 'file:///a' }],
  ['a resource without contents', { type: 'resource', resource: null }],
])('%s is not a content block', (_what, value) => {
  expect(isContentBlock(value)).toBe(false);
});

/** The pipes that Markdown reads as borders: those without a backslash that escapes them. */
function bordersOf(line: string): number {
  return line.replaceAll(/\\./g, '').split('|').length - 1;
}
