import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, ToolRegistry } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';

const searchPages = defineTool(
  {
    name: 'search_pages',
    title: 'Page search',
    description: 'Searches pages by text. Returns id and title of each. Use it to find a page.',
    input: {
      properties: { query: { type: 'string' }, limit: { type: 'integer', default: 10 } },
      required: ['query'],
    },
    output: z.object({ titles: z.array(z.string()) }),
    annotations: { readOnlyHint: true, openWorldHint: false, audience: ['user'] },
    icons: [{ src: 'https://example.com/search.png', sizes: ['48x48'] }],
    _meta: { 'com.example/team': 'search' },
  },
  ({ query }) => ({ titles: [query] }),
);
const getTime = defineTool({ name: 'get_time', description: 'Tells the time.' }, () => 'noon');

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    defineTool({ name: `tool_${String(index).padStart(4, '0')}`, description: 'One of many.' }, () => index),
  );

describeMatrix(({ era, titles, structured, annotations, icons, connect }) => {
  test('a tool that is added can be found and called at once (000-02, 002-02)', async () => {
    const source = new ToolRegistry();
    const peer = await connect({ source });
    expect((await peer.list()).tools).toEqual([]);

    source.registerTool(getTime);
    expect((await peer.list()).tools).toMatchObject([{ name: 'get_time' }]);
    expect((await peer.call('get_time')).content).toEqual([{ type: 'text', text: 'noon' }]);
  });

  test('a list has what a model needs to choose a tool, and nothing about how the tool works (001-02)', async () => {
    const peer = await connect({ tools: [getTime] });
    expect((await peer.list()).tools).toEqual([
      {
        name: 'get_time',
        description: 'Tells the time.',
        inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      },
    ]);
  });

  test('a list has everything the revision defines for a tool, unknown hints included, and nothing else (002-08, 002-10, 002-11)', async () => {
    const peer = await connect({ tools: [searchPages] });
    const [tool] = (await peer.list()).tools;
    expect(tool).toEqual({
      name: 'search_pages',
      description: searchPages.description,
      inputSchema: expect.objectContaining({ type: 'object', required: ['query'] }),
      ...(titles && { title: 'Page search', _meta: { 'com.example/team': 'search' } }),
      ...(structured !== 'none' && {
        outputSchema: expect.objectContaining({
          type: 'object',
          properties: { titles: { type: 'array', items: { type: 'string' } } },
        }),
      }),
      ...(annotations && { annotations: { readOnlyHint: true, openWorldHint: false, audience: ['user'] } }),
      ...(icons && { icons: [{ src: 'https://example.com/search.png', sizes: ['48x48'] }] }),
    });
  });

  test('tools are listed in the order of their names, whatever the order of registration', async () => {
    const peer = await connect({ tools: [searchPages, getTime] });
    expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['get_time', 'search_pages']);
  });

  test('a cursor leads from page to page until none is left (002-06, 002-07, 003-05, 004-04)', async () => {
    const peer = await connect({ tools: numbered(5), pageSize: 2 });
    const first = await peer.list();
    const second = await peer.list({ cursor: first['nextCursor'] });
    const third = await peer.list({ cursor: second['nextCursor'] });
    expect([first, second, third].map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['tool_0000', 'tool_0001'],
      ['tool_0002', 'tool_0003'],
      ['tool_0004'],
    ]);
    expect(third).not.toHaveProperty('nextCursor');
  });

  test('a list that fills its last page exactly ends there (002-07)', async () => {
    const peer = await connect({ tools: numbered(4), pageSize: 2 });
    const { nextCursor } = await peer.list();
    expect(await peer.list({ cursor: nextCursor })).not.toHaveProperty('nextCursor');
  });

  test('a thousand tools are one page, and one more starts a second (002-07)', async () => {
    const source = new ToolRegistry().registerTool(...numbered(1_000));
    const peer = await connect({ source });
    const whole = await peer.list();
    expect(whole.tools).toHaveLength(1_000);
    expect(whole).not.toHaveProperty('nextCursor');

    source.registerTool(getTime);
    const first = await peer.list();
    expect(first.tools).toHaveLength(1_000);
    expect((await peer.list({ cursor: first['nextCursor'] })).tools).toMatchObject([{ name: 'tool_0999' }]);
  });

  test.each([
    ['text that is no cursor', 'page-2'],
    ['an empty cursor, which is not the same as none', ''],
    ['the cursor of a tool that never was', Buffer.from('tool_9999').toString('base64url')],
    ['a cursor in another spelling', `${Buffer.from('tool_0001').toString('base64url')}=`],
    ['a number', 2],
    ['null', null],
  ])('%s is refused as a cursor (002-06)', async (_what, cursor) => {
    const peer = await connect({ tools: numbered(5), pageSize: 2 });
    expect(await peer.error('tools/list', { cursor })).toMatchObject({ code: -32602 });
  });

  test('a cursor stays valid while other tools are added and removed', async () => {
    const source = new ToolRegistry().registerTool(...numbered(4));
    const peer = await connect({ source, pageSize: 2 });
    const { nextCursor } = await peer.list();
    source.remove('tool_0000');
    source.registerTool(getTime);
    const { tools } = await peer.list({ cursor: nextCursor });
    expect(tools.map(({ name }) => name)).toEqual(['tool_0002', 'tool_0003']);
  });

  test('a list says for how long and for whom it may be cached, in the revision that asks for it and in no other', async () => {
    const peer = await connect({ tools: numbered(3), pageSize: 2, name: 'crib', version: '1.2.3' });
    const first = await peer.list();
    const second = await peer.list({ cursor: first['nextCursor'] });
    for (const page of [first, second]) {
      if (era === 'legacy')
        expect(Object.keys(page).filter((key) => !/^(tools|nextCursor)$/.test(key))).toEqual([]);
      else {
        expect(page).toMatchObject({
          resultType: 'complete',
          ttlMs: expect.any(Number),
          cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'crib', version: '1.2.3' } },
        });
      }
    }
  });
});

describeMatrix(
  ({ connect }) => {
    test('tools/list needs no params (000-10, 001-02)', async () => {
      const { wire } = await connect({ tools: [getTime] });
      const answer = await wire.send('{"jsonrpc":"2.0","id":7,"method":"tools/list"}');
      expect(JSON.parse(answer!)).toMatchObject({ id: 7, result: { tools: [{ name: 'get_time' }] } });
    });
  },
  ({ era }) => era === 'legacy',
);

describeMatrix(
  ({ connect }) => {
    test('tools/list needs only the _meta that every request has (000-10)', async () => {
      const peer = await connect({ tools: [getTime] });
      expect(await peer.result('tools/list')).toMatchObject({ tools: [{ name: 'get_time' }] });
    });
  },
  ({ era }) => era === 'modern',
);
