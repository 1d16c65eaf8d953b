import { expect, test } from 'vitest';
import { differencesBetween } from './differences.ts';

test('each difference is named with its place, the old and the new value', () => {
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

test('lists with objects are compared item by item, and without an earlier definition everything is new', () => {
  expect(differencesBetween('{"l":[{"a":1},{"b":1}]}', '{"l":[{"a":1},{"b":2},{}]}')).toEqual([
    { path: 'l[1].b', before: '1', after: '2' },
    { path: 'l[2]', after: '{}' },
  ]);
  expect(differencesBetween(undefined, '{"name":"a"}')).toEqual([{ path: 'name', after: '"a"' }]);
  expect(differencesBetween('{"__proto__":1}', '{"__proto__":2}')).toEqual([
    { path: '__proto__', before: '1', after: '2' },
  ]);
});

test('a long integer that changed in its last digit is shown with all its digits', () => {
  expect(differencesBetween('{"most":9223372036854775807}', '{"most":9223372036854775806}')).toEqual([
    { path: 'most', before: '9223372036854775807', after: '9223372036854775806' },
  ]);
});
