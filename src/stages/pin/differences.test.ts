import { expect, test } from 'vitest';
import { differencesBetween } from './differences.ts';

test('each place that differs is named, with what was and what is there', () => {
  const before = {
    name: 'a',
    description: 'Adds.',
    inputSchema: { properties: { a: { default: 1, enum: [1, 2] }, gone: { type: 'string' } } },
  };
  const after = {
    name: 'a',
    description: 'Adds.\u200b',
    inputSchema: { properties: { a: { default: 2, enum: [2, 1] } } },
    title: 'A',
  };
  expect(differencesBetween(JSON.stringify(before), JSON.stringify(after))).toEqual([
    { path: 'description', before: '"Adds."', after: '"Adds.\u200b"' },
    { path: 'inputSchema.properties.a.default', before: '1', after: '2' },
    { path: 'inputSchema.properties.a.enum', before: '[1,2]', after: '[2,1]' },
    { path: 'inputSchema.properties.gone', before: '{"type":"string"}' },
    { path: 'title', after: '"A"' },
  ]);
});

test('of lists with objects each one is compared, and without an earlier definition all is new', () => {
  expect(differencesBetween('{"l":[{"a":1},{"b":1}]}', '{"l":[{"a":1},{"b":2},{}]}')).toEqual([
    { path: 'l[1].b', before: '1', after: '2' },
    { path: 'l[2]', after: '{}' },
  ]);
  expect(differencesBetween(undefined, '{"name":"a"}')).toEqual([{ path: 'name', after: '"a"' }]);
  expect(differencesBetween('{"__proto__":1}', '{"__proto__":2}')).toEqual([
    { path: '__proto__', before: '1', after: '2' },
  ]);
});
