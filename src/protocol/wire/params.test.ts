import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ToolcribError } from '../../base/errors.ts';
import type { JsonObject } from './json-rpc.ts';
import { metaKeys } from './meta.ts';
import {
  readCallParams,
  readCompletionParams,
  readCursor,
  readLogLevel,
  readProgressToken,
  readPromptParams,
  readRequestLogLevel,
  readResumption,
  readTaskId,
  readUri,
} from './params.ts';

type Params = JsonObject | undefined;
const ref = { type: 'ref/prompt', name: 'plan' };
const argument = { name: 'city', value: 'Os' };

test('a call names its tool and may have arguments', () => {
  expect(readCallParams({ name: 'a' })).toEqual({ name: 'a', arguments: {} });
  expect(readCallParams({ name: 'a', arguments: { b: 1 } })).toEqual({ name: 'a', arguments: { b: 1 } });
});

test.each<[name: string, params: Params, message: string]>([
  ['nothing at all', undefined, 'must name a tool'],
  ['no name', {}, 'must name a tool'],
  ['a name that is a number', { name: 1 }, 'must name a tool'],
  ['a list of arguments', { name: 'a', arguments: [] }, 'must be an object'],
  ['text as arguments', { name: 'a', arguments: 'b' }, 'must be an object'],
])('a call with %s is refused', (_name, params, message) => {
  expect(() => readCallParams(params)).toThrow(message);
});

test('arguments of null count as no arguments, because many clients send them', () => {
  expect(readCallParams({ name: 'a', arguments: null }).arguments).toEqual({});
  expect(readPromptParams({ name: 'a', arguments: null }).arguments).toEqual({});
});

test('a prompt request has a name, and its arguments must be text', () => {
  expect(readPromptParams({ name: 'a', arguments: { b: 'c' } })).toEqual({
    name: 'a',
    arguments: { b: 'c' },
  });
  expect(() => readPromptParams({ name: 'a', arguments: { b: 1 } })).toThrow('must be text');
});

test('a progress token is text or a whole number, and may be 0 or empty', () => {
  for (const token of ['', 'a', 0, -1, 7])
    expect(readProgressToken({ _meta: { progressToken: token } })).toBe(token);
  expect(readProgressToken({})).toBeUndefined();
});

test.each([1.5, null, {}, [], true, 'x'.repeat(257)])(
  'a progress token of %j is refused',
  (progressToken) => {
    expect(() => readProgressToken({ _meta: { progressToken } })).toThrow(
      'a whole number or a string of at most 256 characters',
    );
  },
);

test('a cursor is text, possibly empty, or absent', () => {
  expect(readCursor({})).toBeUndefined();
  expect(readCursor(undefined)).toBeUndefined();
  expect(readCursor({ cursor: 'x' })).toBe('x');
  expect(readCursor({ cursor: '' })).toBe('');
  expect(() => readCursor({ cursor: 1 })).toThrow('must be a string');
  expect(() => readCursor({ cursor: null })).toThrow('must be a string');
});

test('a resource address and a task id must be text', () => {
  expect(readUri({ uri: 'x:a' })).toBe('x:a');
  expect(readTaskId({ taskId: 't' })).toBe('t');
  for (const wrong of [undefined, {}, { uri: 1, taskId: 1 }]) {
    expect(() => readUri(wrong)).toThrow('the address of a resource');
    expect(() => readTaskId(wrong)).toThrow('the id of a task');
  }
});

test('a completion request has a reference, an argument and the values chosen before', () => {
  expect(readCompletionParams({ ref, argument })).toEqual({
    target: { prompt: 'plan' },
    argument,
    chosen: {},
  });
  const context = { arguments: { land: 'Norway', odd: 7 } };
  expect(readCompletionParams({ ref: { type: 'ref/resource', uri: 'x:{a}' }, argument, context })).toEqual({
    target: { template: 'x:{a}' },
    argument,
    chosen: { land: 'Norway' },
  });
});

test.each<[name: string, params: Params, message: string]>([
  ['nothing at all', undefined, '"params.ref" must be an object'],
  ['no argument', { ref }, '"params.argument" must be an object'],
  ['an argument without a value', { ref, argument: { name: 'a' } }, 'needs a "name" and a "value"'],
  ['an argument without a name', { ref, argument: { value: 'a' } }, 'needs a "name" and a "value"'],
  ['a reference to a tool', { ref: { type: 'ref/tool', name: 'a' }, argument }, '"params.ref" must be'],
  ['a prompt without a name', { ref: { type: 'ref/prompt' }, argument }, '"params.ref" must be'],
  ['a resource without an address', { ref: { type: 'ref/resource' }, argument }, '"params.ref" must be'],
])('a completion with %s is refused', (_name, params, message) => {
  expect(() => readCompletionParams(params)).toThrow(message);
});

test('a log level must be one of the eight levels', () => {
  expect(readLogLevel('warning')).toBe('warning');
  for (const wrong of ['warn', 'WARNING', '', 4, undefined, 'constructor'])
    expect(() => readLogLevel(wrong)).toThrow('The log level must be one of debug, info, notice');
});

test('a request gets log entries only if it asks for a level', () => {
  expect(readRequestLogLevel({ _meta: { [metaKeys.logLevel]: 'debug' } })).toBe('debug');
  expect(readRequestLogLevel({})).toBeUndefined();
  expect(() => readRequestLogLevel({ _meta: { [metaKeys.logLevel]: 'loud' } })).toThrow('The log level');
});

test('a retry has answers, a state or both', () => {
  expect(readResumption(undefined)).toBeUndefined();
  expect(readResumption({ name: 'a' })).toBeUndefined();
  expect(readResumption({ requestState: '' })).toEqual({ responses: {}, state: '' });
  expect(readResumption({ inputResponses: { a: 1 } })).toEqual({ responses: { a: 1 }, state: undefined });
});

test.each<[name: string, params: Params]>([
  ['a list of answers', { inputResponses: [] }],
  ['no answers where there should be some', { inputResponses: null }],
  ['state that is an object', { requestState: {} }],
  ['no state where there should be some', { requestState: null }],
])('a retry with %s is refused', (_name, params) => {
  expect(() => readResumption(params)).toThrow(ToolcribError);
});

test('A4 any params are read, or refused with invalid_params', () => {
  const readers: readonly ((params: Params) => unknown)[] = [
    readCallParams,
    readPromptParams,
    readCompletionParams,
    readCursor,
    readProgressToken,
    readRequestLogLevel,
    readResumption,
    readTaskId,
    readUri,
  ];
  const keys = [
    'name',
    'arguments',
    '_meta',
    'cursor',
    'uri',
    'ref',
    'argument',
    'context',
    'taskId',
    'requestState',
  ];
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...keys, 'inputResponses'), fc.jsonValue({ maxDepth: 2 })),
      (params) => {
        for (const read of readers) expect(isReadOrRefused(() => read(params))).toBe(true);
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
