import { expect, test } from 'vitest';
import { z } from 'zod';
import { AbstractTool, content, defineTool, type ToolContext } from '../../src/index.ts';
import { ada, describeMatrix } from './matrix.ts';

const addNumbers = defineTool(
  {
    name: 'add_numbers',
    description: 'Adds two numbers.',
    input: z.object({ a: z.number(), b: z.number().default(1) }),
  },
  ({ a, b }) => ({ sum: a + b }),
);

class Greeter extends AbstractTool<{ name: string }> {
  constructor() {
    super('greet', 'Greets somebody.', { properties: { name: { type: 'string', default: 'you' } } });
  }

  execute({ name }: { name: string }): unknown {
    return `Hello ${name}!`;
  }
}

const returns = (value: unknown) =>
  defineTool({ name: 'answer', description: 'Returns what the test says.' }, () => value);

describeMatrix(({ version, era, structured, connect }) => {
  test('a tool is called by name with arguments, defaults filled in (000-11, 001-03, 002-09)', async () => {
    const peer = await connect({ tools: [addNumbers, new Greeter()] });
    expect(JSON.parse((await peer.call('add_numbers', { a: 1, b: 2 })).content[0]!.text)).toEqual({ sum: 3 });
    expect(JSON.parse((await peer.call('add_numbers', { a: 1 })).content[0]!.text)).toEqual({ sum: 2 });
    expect((await peer.call('greet')).content).toEqual([{ type: 'text', text: 'Hello you!' }]);
  });

  test('a call without "arguments" has empty arguments', async () => {
    const peer = await connect({ tools: [new Greeter()] });
    const result = await peer.result('tools/call', { name: 'greet' });
    expect(result['content']).toEqual([{ type: 'text', text: 'Hello you!' }]);
  });

  test('an object comes back as JSON text in a block, and isError is false (000-12, 001-07, 004-05)', async () => {
    const peer = await connect({ tools: [addNumbers] });
    const result = await peer.call('add_numbers', { a: 1, b: 2 });
    expect(result.content).toEqual([{ type: 'text', text: '{\n  "sum": 3\n}' }]);
    expect(result.isError).toBe(false);
    expect(result.structuredContent).toEqual(structured === 'none' ? undefined : { sum: 3 });
  });

  test('JSON text is indented unless the server is told to keep it compact (001-08)', async () => {
    const pretty = await connect({ tools: [addNumbers], jsonText: 'pretty' });
    const compact = await connect({ tools: [addNumbers], jsonText: 'compact' });
    expect((await pretty.call('add_numbers', { a: 1 })).content[0]!.text).toBe('{\n  "sum": 2\n}');
    expect((await compact.call('add_numbers', { a: 1 })).content[0]!.text).toBe('{"sum":2}');
  });

  test.each([
    ['a number', 42, '42'],
    ['true', true, 'true'],
    ['null', null, 'null'],
    ['a list', [1, 'two'], '[\n  1,\n  "two"\n]'],
    ['an object', { deep: { list: [{}] } }, '{\n  "deep": {\n    "list": [\n      {}\n    ]\n  }\n}'],
  ])(
    '%s is wrapped as one text block that parses back to the same value (001-11)',
    async (_what, value, text) => {
      const peer = await connect({ tools: [returns(value)] });
      const result = await peer.call('answer');
      expect(result.content).toEqual([{ type: 'text', text }]);
      expect(JSON.parse(result.content[0]!.text)).toEqual(value);
    },
  );

  test.each<[string, unknown]>([
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['an object that wants to be nothing', { toJSON: () => undefined }],
  ])('%s, which JSON cannot hold, comes back as null', async (_what, value) => {
    const peer = await connect({ tools: [returns(value)] });
    const result = await peer.call('answer');
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'null' }], isError: false });
    expect(result).not.toHaveProperty('structuredContent');
  });

  test('text comes back as it is, not as JSON', async () => {
    const peer = await connect({ tools: [returns('plain "text"')] });
    expect((await peer.call('answer')).content).toEqual([{ type: 'text', text: 'plain "text"' }]);
  });

  test('a tool that returns nothing has an empty list of content', async () => {
    const peer = await connect({ tools: [returns(undefined)] });
    expect(await peer.call('answer')).toMatchObject({ content: [], isError: false });
  });

  test('the handler knows the caller, its tenant and the revision (001-05)', async () => {
    let seen: Partial<ToolContext> = {};
    const lookAround = defineTool(
      { name: 'look_around', description: 'Keeps its context.' },
      (_args, context) => {
        const { caller, tenant, client, meta } = context;
        seen = { caller, tenant, client, meta };
      },
    );
    const peer = await connect({ tools: [lookAround] });
    await peer.result('tools/call', { name: 'look_around', _meta: { 'com.example/trace': 'abc' } });
    expect(seen).toMatchObject({
      caller: ada,
      tenant: { id: 'acme', name: 'Acme', data: { plan: 'pro' } },
      client: { protocolVersion: version },
      meta: { 'com.example/trace': 'abc' },
    });
    if (era === 'modern' || peer.wire.lasting)
      expect(seen.client).toMatchObject({ name: 'peer', version: '1.0.0' });
  });

  test('a result names the server only in the revision that has that field', async () => {
    const peer = await connect({ tools: [addNumbers], name: 'crib', version: '1.2.3' });
    const result = await peer.call('add_numbers', { a: 1 });
    if (era === 'legacy') {
      const known = structured === 'none' ? [] : ['structuredContent'];
      expect(Object.keys(result).toSorted()).toEqual(['content', 'isError', ...known]);
    } else {
      expect(Object.keys(result).toSorted()).toEqual([
        '_meta',
        'content',
        'isError',
        'resultType',
        'structuredContent',
      ]);
      expect(result).toMatchObject({
        resultType: 'complete',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'crib', version: '1.2.3' } },
      });
    }
  });

  test('a result that a handler wrote out in full keeps its _meta and unknown fields', async () => {
    const full = { content: [content.text('done')], _meta: { 'com.example/cost': 3 }, vendorField: true };
    const peer = await connect({ tools: [returns(full)] });
    expect(await peer.call('answer')).toMatchObject({
      content: [{ type: 'text', text: 'done' }],
      _meta: { 'com.example/cost': 3 },
      vendorField: true,
    });
  });

  test('a handler cannot write the fields that belong to the protocol', async () => {
    const full = {
      content: [content.text('done')],
      resultType: 'input_required',
      ttlMs: 1,
      cacheScope: 'public',
    };
    const peer = await connect({ tools: [returns(full)] });
    const result = await peer.call('answer');
    expect(result['resultType']).toBe(era === 'modern' ? 'complete' : undefined);
    expect(result).not.toHaveProperty('ttlMs');
    expect(result).not.toHaveProperty('cacheScope');
  });
});
