import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ToolcribError } from '../core/errors.ts';
import type { JsonObject } from './json-rpc.ts';
import { readCallParams, readCursor } from './params.ts';

test('a call names its tool and may bring arguments and a progress token', () => {
  expect(readCallParams({ name: 'a' })).toEqual({ name: 'a', arguments: {}, progressToken: undefined });
  const full = { name: 'a', arguments: { b: 1 }, _meta: { progressToken: 0 } };
  expect(readCallParams(full)).toEqual({ name: 'a', arguments: { b: 1 }, progressToken: 0 });
});

test.each<[name: string, params: JsonObject | undefined, message: string]>([
  ['nothing at all', undefined, 'must name a tool'],
  ['no name', {}, 'must name a tool'],
  ['a name that is a number', { name: 1 }, 'must name a tool'],
  ['a list of arguments', { name: 'a', arguments: [] }, 'must be an object'],
  ['text as arguments', { name: 'a', arguments: 'b' }, 'must be an object'],
  ['a progress token that is a fraction', { name: 'a', _meta: { progressToken: 1.5 } }, 'whole number'],
  ['a progress token that is null', { name: 'a', _meta: { progressToken: null } }, 'whole number'],
  ['a progress token that is an object', { name: 'a', _meta: { progressToken: {} } }, 'whole number'],
])('a call with %s is refused', (_name, params, message) => {
  expect(() => readCallParams(params)).toThrow(message);
});

test('arguments of null are no arguments, as many clients send them', () => {
  expect(readCallParams({ name: 'a', arguments: null }).arguments).toEqual({});
});

test('a cursor is text or absent', () => {
  expect(readCursor({})).toBeUndefined();
  expect(readCursor(undefined)).toBeUndefined();
  expect(readCursor({ cursor: 'x' })).toBe('x');
  expect(() => readCursor({ cursor: 1 })).toThrow('must be a string');
  expect(() => readCursor({ cursor: null })).toThrow('must be a string');
});

test('A4 whatever the parameters are, they are read or refused, and nothing else happens', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('name', 'arguments', '_meta', 'cursor', 'x'), fc.jsonValue()),
      (params) => {
        for (const read of [readCallParams, readCursor])
          expect(isReadOrRefused(() => read(params))).toBe(true);
      },
    ),
  );
});

function isReadOrRefused(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    return error instanceof ToolcribError && error.code === 'invalid_params';
  }
}
