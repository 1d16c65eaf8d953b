import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ToolcribError } from '../../base/errors.ts';
import { checkMirrors, checkParamMirrors, decodeHeader, headerValue } from './headers.ts';
import type { JsonObject, RequestMessage } from './json-rpc.ts';

const VERSION = '2026-07-28';
const anyText = fc.string({ unit: 'binary', maxLength: 20 });
const almostBase64 = fc
  .array(fc.constantFrom(...'ABab019+/=-_ '.split(''), 'ZGFuZ2Vy', 'w6k='), { maxLength: 8 })
  .map((parts) => parts.join(''));

describe('reading a header', () => {
  test.each<[sent: string, read: string]>([
    ['a', 'a'],
    [' \ta\t ', 'a'],
    ['a b', 'a b'],
    ['\u00a0a', '\u00a0a'],
    ['', ''],
    [' ', ''],
  ])('the header %j has the value %j', (sent, read) => {
    expect(headerValue({ 'mcp-name': sent }, 'mcp-name')).toBe(read);
  });

  test('a header that is a list, or missing, has no value', () => {
    expect(headerValue({ 'mcp-name': ['a', 'b'] }, 'mcp-name')).toBeUndefined();
    expect(headerValue({}, 'mcp-name')).toBeUndefined();
  });
});

describe('headers in base64', () => {
  test('A3 every text survives encoding and decoding', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(decodeHeader('X', encode(text))).toBe(text);
        expect(decodeHeader('X', toSentinel(text))).toBe(text);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('A3 only canonical base64 is decoded; every other spelling is refused', () => {
    fc.assert(
      fc.property(fc.oneof(almostBase64, fc.base64String(), fc.string()), (inside) => {
        const text = attempt(() => decodeHeader('X', `=?base64?${inside}?=`));
        if (text !== undefined) expect(toSentinel(text)).toBe(`=?base64?${inside}?=`);
      }),
      { numRuns: propertyRuns(5_000) },
    );
  });

  test.each([
    'ZGFu Z2Vy',
    ' ZGFuZ2Vy',
    'ZGFuZ2Vy=',
    'ZGFuZ2Vy====',
    'ZGFuZ2Vy!',
    'ZGFu\nZ2Vy',
    'ZGFuZ2Vy====ZGFu',
  ])('A3 the base64 text %j is refused, although a lenient decoder accepts it', (inside) => {
    expect(Buffer.from(inside, 'base64').toString()).toMatch(/^danger/);
    expect(() => decodeHeader('Mcp-Name', `=?base64?${inside}?=`)).toThrow(
      'Mcp-Name is not canonical base64',
    );
  });

  test.each([
    'danger',
    '=?base64?',
    '=?base64?=',
    'x=?base64?ZGFuZ2Vy?=',
    '=?base64?ZGFuZ2Vy?=x',
    '=?BASE64?ZGFuZ2Vy?=',
    '=?utf-8?q?x?=',
  ])('A3 the header %j is used unchanged', (text) => {
    expect(decodeHeader('X', text)).toBe(text);
  });

  test.each(['/w==', '7aCA', 'wK8=', '9JCAgA==', '4oI='])(
    'A3 the bytes %s are refused because they are not UTF-8',
    (inside) => {
      expect(() => decodeHeader('X', `=?base64?${inside}?=`)).toThrow('X is not UTF-8');
    },
  );
});

describe('headers and message', () => {
  test('A3 a request is accepted exactly when its headers match its body', () => {
    const word = fc.constantFrom('tools/call', 'tools/list', 'danger', 'safe', 'Danger', VERSION, '');
    const header = fc.option(fc.oneof(word, word.map(toSentinel)), { nil: undefined });
    fc.assert(
      fc.property(header, header, fc.constantFrom('tools/call', 'tools/list'), (method, name, sent) => {
        const message = request(sent, { name: 'danger' });
        const headers = { 'mcp-protocol-version': VERSION, 'mcp-method': method, 'mcp-name': name };
        const isSame = method === sent && (sent !== 'tools/call' || decoded(name) === 'danger');
        expect(passes(() => checkMirrors(message, VERSION, headers))).toBe(isSame);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test.each<[method: string, params: JsonObject, name: string | undefined]>([
    ['tools/call', { name: 'a' }, 'a'],
    ['prompts/get', { name: 'a' }, 'a'],
    ['resources/read', { uri: 'a' }, 'a'],
    ['tools/list', { name: 'a' }, undefined],
  ])(
    'A3 the Mcp-Name header of %s is compared with the parameter that names it, if it has one',
    (method, params, name) => {
      const check = (value: string | undefined): void =>
        checkMirrors(request(method, params), VERSION, {
          'mcp-protocol-version': VERSION,
          'mcp-method': method,
          'mcp-name': value,
        });
      expect(() => check(name)).not.toThrow();
      expect(passes(() => check('other'))).toBe(name === undefined);
    },
  );
});

describe('headers and arguments', () => {
  const schema = {
    type: 'object',
    properties: {
      zone: { type: 'string', 'x-mcp-header': 'Zone' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
    },
  };

  test('A3 a text argument is accepted exactly when its header, decoded, is the same text', () => {
    const text = fc.oneof(anyText, fc.constantFrom('eu', '', '=?base64?ZXU=?=', ' eu', '42'));
    fc.assert(
      fc.property(text, text, fc.boolean(), (argument, other, isHonest) => {
        const header = encode(isHonest ? argument : other);
        const check = (): void => checkParamMirrors(schema, { zone: argument }, { 'mcp-param-zone': header });
        expect(passes(check)).toBe(isHonest || argument === other);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('A3 a whole number is accepted exactly when its header is that number in digits', () => {
    const spelling = fc.constantFrom(
      (value: number) => String(value),
      (value: number) => `${value}.0`,
      (value: number) => `0x${value.toString(16)}`,
      (value: number) => `+${value}`,
      (value: number) => `${value}e0`,
      (value: number) => `${value},`,
      (value: number) => `${value}.5`,
      (value: number) => String(value + 1),
    );
    fc.assert(
      fc.property(fc.maxSafeInteger(), spelling, (value, spell) => {
        const header = spell(value);
        const check = (): void => checkParamMirrors(schema, { count: value }, { 'mcp-param-count': header });
        const isNumber = /^-?\d+(\.0)?$/.test(header) && Number(header) === value;
        expect(passes(check)).toBe(isNumber);
      }),
    );
  });

  test('A3 an argument of the wrong type that its header repeats is left to the schema check', () => {
    expect(() => checkParamMirrors(schema, { count: 42.5 }, { 'mcp-param-count': '42.5' })).not.toThrow();
  });

  test.each(['toString', 'constructor', 'hasOwnProperty', 'valueOf'])(
    'A14 an argument named %s counts as absent until it is sent',
    (name) => {
      const magic = { type: 'object', properties: { [name]: { type: 'string', 'x-mcp-header': 'Magic' } } };
      expect(() => checkParamMirrors(magic, {}, {})).not.toThrow();
      expect(() => checkParamMirrors(magic, {}, { 'mcp-param-magic': 'x' })).toThrow('its argument is not');
      expect(() => checkParamMirrors(magic, { [name]: 'x' }, { 'mcp-param-magic': 'x' })).not.toThrow();
    },
  );
});

function request(method: string, params: JsonObject): RequestMessage {
  return { kind: 'request', id: 1, idText: '1', method, params };
}

// As a client encodes: as it is where a header can carry it, else as base64.
function encode(text: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isPlain || text === '' ? text : toSentinel(text);
}

function toSentinel(text: string): string {
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

function decoded(header: string | undefined): string | undefined {
  const inside = header && /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  return inside === undefined ? header : Buffer.from(inside, 'base64').toString();
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof ToolcribError && error.code === 'header_mismatch') return undefined;
    throw error;
  }
}

function passes(check: () => void): boolean {
  return attempt(() => (check(), true)) === true;
}
