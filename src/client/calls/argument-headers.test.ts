import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { checkParamMirrors } from '../../protocol/wire/headers.ts';
import { argumentHeaders } from './argument-headers.ts';

const mirrored = (type: string, header: string): object => ({ type, 'x-mcp-header': header });
const schema = {
  type: 'object',
  properties: {
    region: mirrored('string', 'Region'),
    at: { type: 'object', properties: { id: mirrored('integer', 'Item-Id'), on: mirrored('boolean', 'On') } },
  },
};

test('arguments are repeated under lower-case names, from wherever in the arguments they are', () => {
  expect(argumentHeaders(schema, { region: 'eu', at: { id: 7, on: false }, other: 'x' })).toEqual([
    'mcp-param-region',
    'eu',
    'mcp-param-item-id',
    '7',
    'mcp-param-on',
    'false',
  ]);
});

test('a schema that wants nothing repeated has no headers, and arguments that are not there have none', () => {
  expect(
    argumentHeaders({ type: 'object', properties: { region: { type: 'string' } } }, { region: 'eu' }),
  ).toBe(undefined);
  for (const args of [{}, { region: null }, { at: null }, { at: 'text' }, { at: [7] }, { at: {} }])
    expect([args, argumentHeaders(schema, args)]).toEqual([args, []]);
});

test('what every object inherits is no argument', () => {
  const odd = {
    type: 'object',
    properties: { constructor: mirrored('string', 'A'), toString: mirrored('string', 'B') },
  };
  expect(argumentHeaders(odd, {})).toEqual([]);
});

test.each([
  ['', '=?base64??='],
  [' a', '=?base64?IGE=?='],
  ['a\r\nX-Evil: 1', '=?base64?YQ0KWC1FdmlsOiAx?='],
  ['Zürich', '=?base64?WsO8cmljaA==?='],
  ['=?base64?YQ==?=', '=?base64?PT9iYXNlNjQ/WVE9PT89?='],
])('the text %j, which a header cannot hold as it is, is sent as %j', (region, header) => {
  expect(argumentHeaders(schema, { region })).toEqual(['mcp-param-region', header]);
});

test('an integer that no number holds keeps all its digits', () => {
  expect(argumentHeaders(schema, { at: { id: 9007199254740993n } })).toEqual([
    'mcp-param-item-id',
    '9007199254740993',
  ]);
});

test('whatever the arguments are, a server that compares them with the headers accepts them', () => {
  const argument = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  const anything = fc.record(
    { region: argument, at: fc.record({ id: argument, on: argument }) },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(anything, (made) => {
      // As they are in the body.
      const args = JSON.parse(JSON.stringify(made));
      const flat = argumentHeaders(schema, args)!;
      const pairs = flat.flatMap((text, at) => (at % 2 === 0 ? [[text, flat[at + 1]!]] : []));
      expect(() => checkParamMirrors(schema, args, Object.fromEntries(pairs))).not.toThrow();
    }),
    { numRuns: propertyRuns(2_000) },
  );
});
