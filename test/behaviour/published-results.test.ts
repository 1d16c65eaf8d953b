import { expect, test } from 'vitest';
import { createServer, defineResource, defineTool, type Caller } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { ada, describeMatrix, toServerOptions } from './matrix.ts';
import { modernMeta, type Peer } from './peer.ts';

const rows = 'id,name\n'.concat('1,ada\n'.repeat(50_000));
const exportRows = defineTool({ name: 'export_rows', description: 'Exports.' }, (_args, { publish }) => [
  publish({ name: 'rows.csv', data: rows, mimeType: 'text/csv', description: 'All rows.', ttlMs: 60_000 }),
  publish({ name: 'picture', data: Uint8Array.of(1, 2, 3) }),
]);

/** The addresses a call published, as a link or as the text that stands for it. */
async function publishedBy(peer: Peer): Promise<string[]> {
  const { content } = await peer.call('export_rows');
  return content.map(({ uri, text }) => (typeof uri === 'string' ? uri : /\]\((\S+)\)/.exec(text)![1]!));
}

describeMatrix(({ era, links, connect }) => {
  test('a large result is published as a resource link that only its caller can read (004-26)', async () => {
    const clock = createFakeClock();
    const peer = await connect({ tools: [exportRows], publish: true, clock });
    const { content } = await peer.call('export_rows');
    const uri = expect.stringMatching(/^toolcrib-published:\/\/[\w-]{22}$/);
    if (links) {
      expect(content).toEqual([
        {
          type: 'resource_link',
          uri,
          name: 'rows.csv',
          mimeType: 'text/csv',
          description: 'All rows. Available until 2026-01-01T00:01:00.000Z.',
        },
        {
          type: 'resource_link',
          uri,
          name: 'picture',
          description: 'Available until 2026-01-01T01:00:00.000Z.',
        },
      ]);
    } else
      expect(content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/^\[rows\.csv\]\(/) });

    const [table, picture] = await publishedBy(peer);
    expect(await peer.result('resources/read', { uri: table })).toMatchObject({
      contents: [{ uri: table, mimeType: 'text/csv', text: rows }],
    });
    expect(await peer.result('resources/read', { uri: picture })).toMatchObject({
      contents: [{ uri: picture, blob: 'AQID' }],
    });
  });

  test('a link works until it expires, and is unknown afterwards (004-26)', async () => {
    const clock = createFakeClock();
    const peer = await connect({ tools: [exportRows], publish: true, clock });
    const [table, picture] = await publishedBy(peer);
    clock.advance(59_999);
    expect(await peer.result('resources/read', { uri: table })).toHaveProperty('contents');
    clock.advance(1);
    expect(await peer.error('resources/read', { uri: table })).toEqual({
      code: era === 'modern' ? -32602 : -32002,
      message: `Unknown resource: ${table}`,
      data: { uri: table },
    });
    expect(await peer.result('resources/read', { uri: picture })).toHaveProperty('contents');
  });

  test('a published result is not listed, and other resources are still available (004-26)', async () => {
    const other = defineResource({ uri: 'note://a', name: 'a' }, () => 'a');
    const peer = await connect({ tools: [exportRows], resources: [other], publish: true });
    await publishedBy(peer);
    expect((await peer.result('resources/list'))['resources']).toMatchObject([{ uri: 'note://a' }]);
    expect(await peer.result('resources/read', { uri: 'note://a' })).toHaveProperty('contents');
  });

  test('a tool on a server without publishing is told so, and no resources are declared', async () => {
    const peer = await connect({ tools: [exportRows] });
    expect(await peer.call('export_rows')).toMatchObject({
      content: [{ text: 'This server publishes nothing: pass publish: true to createServer.' }],
      isError: true,
    });
    expect(await peer.error('resources/list')).toMatchObject({ code: -32601 });
  });
});

test.each<[string, Caller]>([
  ['another caller', { ...ada, id: 'bob' }],
  ['a caller of the same name elsewhere', { ...ada, tenant: { ...ada.tenant, id: 'other' } }],
])('to %s a published link looks unknown (004-26)', async (_what, stranger) => {
  const server = createServer(toServerOptions({ tools: [exportRows], publish: true }));
  const ask = (caller: Caller, method: string, params: object) =>
    server.handle({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: modernMeta() } }, { caller });
  const answer = (await ask(ada, 'tools/call', { name: 'export_rows' })) as unknown as {
    result: { content: { uri: string }[] };
  };
  const { uri } = answer.result.content[0]!;
  expect(await ask(stranger, 'resources/read', { uri })).toMatchObject({
    error: { code: -32602, message: `Unknown resource: ${uri}`, data: { uri } },
  });
  expect(await ask(ada, 'resources/read', { uri })).toHaveProperty('result.contents');
});
