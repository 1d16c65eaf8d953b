import { expect, test } from 'vitest';
import { copyJson } from './json.ts';
import { validatorOf } from '../schema/validator.ts';

test('a copy is equal and shares no objects', () => {
  const value = { a: [1, { b: null }], c: 'd' };
  const copy = copyJson(value);
  expect(copy).toEqual(value);
  expect(copy.a).not.toBe(value.a);
  expect(copy.a[1]).not.toBe(value.a[1]);
});

test.each(['{"__proto__":{"admin":true}}', '{"a":[{"__proto__":7,"b":1}]}', '{"__proto__":"text"}'])(
  'a member named __proto__ stays a member and is not inherited from: %s',
  (text) => {
    const copy: object = copyJson(JSON.parse(text));
    expect(JSON.stringify(copy)).toBe(text);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect('admin' in copy).toBe(false);
  },
);

test('a check that fills in defaults sees a member named __proto__ like any other', () => {
  const properties = { limit: { default: 10 } };
  const hostile = (): unknown => JSON.parse('{"__proto__":{"limit":99}}');
  expect(validatorOf({ properties, additionalProperties: false })(hostile())).toHaveProperty('issues');
  const open = validatorOf({ properties })(hostile()) as { value: { limit: number } };
  expect(open.value.limit).toBe(10);
});
