import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ToolcribError } from '../../base/errors.ts';
import { unknownTool } from '../../core/absent-tool.ts';
import {
  encodeError,
  encodeNotification,
  encodeResult,
  parseMessage,
  type Batch,
  type Message,
} from './json-rpc.ts';
import { JsonScanner } from './json-scan.ts';
import { readJson } from '../../base/parse-json.ts';

const scanner = new JsonScanner();
const parse = (text: string | Uint8Array): Message | Batch =>
  parseMessage(Buffer.from(text as string), scanner);
const withId = (id: string): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;

describe('kinds of messages', () => {
  test.each<[text: string, kind: string]>([
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 'request'],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}', 'request'],
    ['{"jsonrpc":"2.0","method":"notifications/initialized"}', 'notification'],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', 'response'],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}', 'response'],
  ])('%s is a %s', (text, kind) => {
    expect(parse(text).kind).toBe(kind);
  });

  test.each<[text: string, number: number]>([
    ['', -32700],
    ['{', -32700],
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}x', -32700],
    ['\u{feff}{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700],
    ['[]', -32600],
    ['null', -32600],
    ['"ping"', -32600],
    ['{}', -32600],
    ['{"id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":2.0,"id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":1}', -32600],
    ['{"jsonrpc":"2.0","id":1,"Method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","Params":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}', -32600],
    ['{"jsonrpc":"2.0","result":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', -32600],
    ['{"jsonrpc":"2.0","method":"ping","error":{}}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', -32602],
  ])('A4 %s is refused with %i', (text, number) => {
    const message = parse(text);
    expect(message.kind).toBe('invalid');
    expect(encodeError(undefined, (message as { error: ToolcribError }).error)).toContain(
      `"code":${number},`,
    );
  });
});

describe('batches', () => {
  const ping = withId('1');

  test('the messages of a batch are read one by one, and each is accepted or refused on its own', () => {
    const message = parse(
      `[${ping},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":"a","result":{}},7,[],{"id":3}]`,
    );
    expect(message).toMatchObject({
      kind: 'batch',
      messages: [
        { kind: 'request', id: 1, idText: '1' },
        { kind: 'notification', method: 'x' },
        { kind: 'response', id: 'a', result: {} },
        { kind: 'invalid', idText: undefined },
        { kind: 'invalid', idText: undefined },
        { kind: 'invalid', idText: '3' },
      ],
    });
  });

  test('an empty batch is refused', () => {
    expect(parse('[]')).toMatchObject({ kind: 'invalid', error: { code: 'invalid_request' } });
  });

  test('A4 every message of any batch is read or refused', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 5 }), (values) => {
        const message = parse(JSON.stringify(values));
        if (message.kind !== 'batch') expect(message.kind).toBe('invalid');
        else expect(message.messages).toHaveLength(values.length);
      }),
    );
  });
});

test('a response has its id and its result or error', () => {
  expect(parse('{"jsonrpc":"2.0","id":"q","error":{"code":-1,"message":"no"}}')).toEqual({
    kind: 'response',
    id: 'q',
    result: undefined,
    error: { code: -1, message: 'no' },
  });
});

test('an error can be sent with the code that another revision uses', () => {
  const error = new ToolcribError('unknown_resource', 'Unknown resource: x:y', { data: { uri: 'x:y' } });
  expect(JSON.parse(encodeError('1', error))).toMatchObject({ error: { code: -32602 } });
  expect(JSON.parse(encodeError('1', error, -32002))).toMatchObject({ id: 1, error: { code: -32002 } });
});

test('C1 an unknown tool is refused with -32602 and a reason that programs can read', () => {
  expect(JSON.parse(encodeError('1', unknownTool('missing')))).toEqual({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32602, message: 'Unknown tool: missing', data: { reason: 'tool_not_found' } },
  });
});

describe('ids', () => {
  test.each([
    '0',
    '-0',
    '1.50',
    '1E3',
    '9007199254740993',
    '""',
    '"a"',
    '"é"',
    '"😀"',
    String.raw`"\u00e9\n\"\\"`,
    String.raw`"\ud800"`,
    `"${'x'.repeat(128)}"`,
  ])('A4 the id %s is returned exactly as it was sent', (id) => {
    expect(parse(withId(id))).toMatchObject({ kind: 'request', idText: id });
  });

  test.each([
    'null',
    'true',
    '{}',
    '[]',
    '[1]',
    '1e400',
    '-1e400',
    `"${'x'.repeat(129)}"`,
    `"${'é'.repeat(65)}"`,
  ])('A4 the id %s is refused and not returned', (id) => {
    expect(parse(withId(id))).toMatchObject({ kind: 'invalid', idText: undefined });
  });

  test('A4 any id is returned exactly as it was sent, wherever it is in the message', () => {
    const blanks = fc.constantFrom('', ' ', '\n', '\r\n\t ');
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
      fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
    );
    const text = fc
      .oneof(fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ unit: 'grapheme', maxLength: 8 }))
      .filter((value) => Buffer.byteLength(value) <= 128)
      .map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(fc.oneof(number, text), blanks, fc.boolean(), (id, blank, isFirst) => {
        const idMember = `"id"${blank}:${blank}${id}${blank}`;
        const rest = `"method":"é","params":{"id":"other"},"jsonrpc":"2.0"`;
        const message = parse(isFirst ? `{${idMember},${rest}}` : `{${rest}${blank},${blank}${idMember}}`);
        expect(message).toMatchObject({ kind: 'request', id: JSON.parse(id) as unknown, idText: id });
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });
});

describe('agreement with JSON.parse', () => {
  test('A4 every JSON value within the limits arrives as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 1), (value, indent) => {
        const text = JSON.stringify(
          { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { arguments: value } },
          null,
          indent,
        );
        const message = parse(text);
        const expected = { ...(readJson(text) as object), jsonrpc: undefined, kind: 'request', idText: '1' };
        if (holdsKey(value, '__proto__')) expect(message.kind).toBe('invalid');
        else expect({ ...message, longIntegers: undefined }).toEqual(expected);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('integers that do not fit in a number are recorded as they were written', () => {
    const params = '{"arguments":{"a/b":[1,9007199254740993],"c":-9007199254740993,"d":9007199254740991}}';
    const message = parse(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    expect(message).toMatchObject({
      longIntegers: {
        params: { arguments: { 'a/b': { 1: '9007199254740993' }, c: '-9007199254740993' } },
      },
    });
  });

  test('A4 any JSON value is handled without an exception', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parse(text).kind).toMatch(/^(invalid|response|request|notification|batch)$/);
      }),
    );
  });

  test('A4 text that JSON.parse refuses is refused, and no bytes cause an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        expect(parse(bytes).kind).toBe('invalid');
      }),
      { numRuns: propertyRuns(5_000) },
    );
  });

  test('A4 a message with one byte changed is read as JSON.parse reads it, or refused', () => {
    const good = Buffer.from(
      '{"jsonrpc":"2.0","id":"a\\u0062é","method":"tools/call","params":{"name":"x","n":[1.5e3,-0,{}]}}',
    );
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(255), (at, byte) => {
        const bytes = Buffer.from(good);
        bytes[at] = byte;
        const message = parse(bytes);
        if (message.kind !== 'request') return;
        const { method, params, id } = readJson(strictText(bytes)) as Record<string, unknown>;
        expect({ method: message.method, params: message.params, id: message.id }).toEqual({
          method,
          params,
          id,
        });
      }),
      { numRuns: propertyRuns(10_000) },
    );
  });
});

describe('numbers beyond the range of a double', () => {
  test.each<[name: string, number: string]>([
    ['1e400', '1e400'],
    ['-1e400', '-1e400'],
    ['1E+309', '1E+309'],
    ['1.7976931348623159e308', '1.7976931348623159e308'],
    ['a number of 309 nines', '9'.repeat(309)],
    ['a number of 400 ones', '1'.repeat(400)],
    ['a negative number of 399 ones', `-${'1'.repeat(399)}`],
  ])('A4 %s is refused at any place, because it would be passed on as null', (_name, number) => {
    expect(parse(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[${number}]}}`).kind).toBe('invalid');
  });

  test.each<[name: string, number: string]>([
    ['1e308', '1e308'],
    ['1.7976931348623157E308', '1.7976931348623157E308'],
    ['1e-400', '1e-400'],
    ['-0', '-0'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['a number of 308 nines', '9'.repeat(308)],
    ['a zero with 398 decimals', `0.${'0'.repeat(398)}`],
  ])('A4 %s is accepted as a number', (_name, number) => {
    const message = parse(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[${number},true,false]}}`);
    expect(message).toMatchObject({ params: { a: [Number(number), true, false] } });
  });
});

describe('encoding', () => {
  test('a response has the id as it was written', () => {
    expect(encodeResult('1.0', '{"a":1}')).toBe('{"jsonrpc":"2.0","id":1.0,"result":{"a":1}}');
  });

  test('an error for an unreadable request has no id', () => {
    const error = new ToolcribError('parse_error', 'No.');
    expect(JSON.parse(encodeError(undefined, error))).toEqual({
      jsonrpc: '2.0',
      error: { code: -32700, message: 'No.' },
    });
  });

  test('an error has its data and never its cause', () => {
    const error = new ToolcribError('unsupported_version', 'No.', {
      data: { supported: [] },
      cause: 'secret',
    });
    expect(JSON.parse(encodeError('7', error))).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32022, message: 'No.', data: { supported: [] } },
    });
  });

  test('a notification has params only if it is given some', () => {
    expect(encodeNotification('a')).toBe('{"jsonrpc":"2.0","method":"a"}');
    expect(encodeNotification('a', { b: 1 })).toBe('{"jsonrpc":"2.0","method":"a","params":{"b":1}}');
  });
});

function holdsKey(value: unknown, key: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, key) || Object.values(value).some((item) => holdsKey(item, key));
}

function strictText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}
