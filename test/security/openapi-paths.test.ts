import { unescape } from 'node:querystring';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/registry.ts';
import { toolsFromOpenApi } from '../../src/tools.ts';
import type { OpenApiOperation } from '../../src/tools/openapi/operation.ts';
import { buildRequest } from '../../src/tools/openapi/request.ts';
import { openApi, type LocalApi } from '../openapi-api.ts';
import { propertyRuns } from '../property-runs.ts';

const description = {
  openapi: '3.0.0',
  info: { title: 'Files' },
  paths: {
    '/files/{name}': {
      get: {
        operationId: 'getFile',
        parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'A file.' } },
      },
    },
  },
};

function registryOf({ url }: LocalApi): ToolRegistry {
  const tools = toolsFromOpenApi(description, { server: url, trustServer: true });
  return new ToolRegistry().registerTool(...tools);
}

// Node's own decoder for queries takes every sequence it can and leaves the rest, as many servers do.
const leavesItsFolder = (value: string): boolean =>
  unescape(value)
    .split(/[/\\]/)
    .some((segment) => ['.', '..'].includes(segment.split(';')[0]!));

const hostile = [
  '..%2fadmin%ff',
  '%2e%2e%2fadmin%3fq=%zz',
  '..%5c..%5cadmin%',
  '%252e%252e%252fadmin%ff',
  '%2e%2e;a=%zz%2fadmin',
];

test.each(hostile)(
  'D3 %j cannot leave its folder, even though it is not valid percent-encoding',
  async (name) => {
    const api = await openApi();
    await expect(registryOf(api).execute('getFile', { name })).rejects.toThrow(/"\.\." step/);
    expect(api.seen).toEqual([]);
    // Control: it cannot be decoded as a whole, and a host that takes it piece by piece, once or twice, is led out.
    expect(() => decodeURIComponent(decodeURIComponent(name))).toThrow(URIError);
    expect(leavesItsFolder(name) || leavesItsFolder(unescape(name))).toBe(true);
  },
);

test.each(['%0d%0aX: y%ff', 'a%00%zz', '%250a%ff'])(
  'D3 %j is refused for a control character, even though it is not valid percent-encoding',
  async (name) => {
    const api = await openApi();
    await expect(registryOf(api).execute('getFile', { name })).rejects.toThrow(/control characters/);
    expect(api.seen).toEqual([]);
  },
);

test.each(['50%', '100%25', '%zz', 'caf%C3%A9', '%ff', '%E2%82%AC', 'a..b', '..a%'])(
  '%j is accepted as a name',
  async (name) => {
    const api = await openApi();
    await registryOf(api).execute('getFile', { name });
    expect(api.last().url).toBe(`/files/${encodeURIComponent(name)}`);
  },
);

test('D3 no path value leaves its folder when a host decodes it once or twice more', () => {
  const parameter = { property: 'name', name: 'name', in: 'path', style: 'simple', explode: false } as const;
  const operation: OpenApiOperation = {
    id: 'getFile',
    method: 'GET',
    template: '/files/{name}',
    summary: '',
    description: '',
    returns: '',
    isDeprecated: false,
    parameters: [{ ...parameter, isJson: false, isRequired: true, description: '', schema: {} }],
    body: undefined,
    answer: undefined,
    server: undefined,
  };
  const piece = fc.constantFrom(
    '.',
    '..',
    '/',
    '\\',
    '%',
    '%2e',
    '%2F',
    '%5c',
    '%252e',
    '%ff',
    '%zz',
    ';',
    'a',
  );
  let sent = 0;
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (pieces) => {
      const name = pieces.join('');
      try {
        buildRequest(operation, { name });
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_arguments' });
        return;
      }
      sent++;
      expect([name, leavesItsFolder(name), leavesItsFolder(unescape(name))]).toEqual([name, false, false]);
    }),
    { numRuns: propertyRuns(1_000, 500) },
  );
  expect(sent).toBeGreaterThan(50);
});
