import { expect, test } from 'vitest';
import { content, defineResource, defineTool, ToolRegistry } from '../../src/index.ts';
import { serve } from '../client/peers.ts';
import { everythingForStaff, openCrib, type Crib } from '../gateway.ts';

const PAGE = 'ui://app/main.html';

/** A server with an app: a tool that is shown with a page, one that only the page calls, and the page. */
function appServer(say: string, more: { tool?: string } = {}): ToolRegistry {
  const { tool = 'refresh' } = more;
  return new ToolRegistry()
    .registerTool(
      defineTool(
        {
          name: 'show',
          description: 'Shows it.',
          _meta: { ui: { resourceUri: PAGE, visibility: ['model'] }, 'ui/resourceUri': PAGE, own: say },
        },
        () => ({
          content: [
            content.text(say),
            content.resourceLink({ uri: PAGE, name: 'page' }),
            content.resource({ uri: PAGE, text: say }),
            content.resourceLink({ uri: 'note://else', name: 'else' }),
          ],
          structuredContent: { link: PAGE },
          _meta: { ui: { resourceUri: PAGE }, view: say },
        }),
      ),
      defineTool({ name: tool, description: 'Is called by the page.' }, () => `${tool} of ${say}`),
    )
    .registerResource(
      defineResource(
        { uri: PAGE, name: 'page', mimeType: 'text/html;profile=mcp-app' },
        () => `<p>${say}</p>`,
      ),
    );
}

async function openApps(...servers: readonly ToolRegistry[]): Promise<Crib> {
  const urls = await Promise.all(servers.map((server) => serve(server)));
  return openCrib({
    config: {
      mcpServers: Object.fromEntries(urls.map((url, index) => [['one', 'two', 'three'][index]!, { url }])),
      access: [everythingForStaff],
    },
  });
}

const read = async (ada: Awaited<ReturnType<Crib['connect']>>, uri: string): Promise<unknown> =>
  ((await ada.result('resources/read', { uri })) as { contents: unknown[] }).contents[0];

test("equal app addresses of two servers get the server's label wherever they appear, and nothing else changes", async () => {
  const crib = await openApps(appServer('first'), appServer('second'));
  const ada = await crib.connect('ada');
  const { tools } = await ada.list();
  const shown = tools.find(({ name }) => name === 'two__show')!;
  expect(shown['_meta']).toEqual({
    ui: { resourceUri: 'ui://two/app/main.html', visibility: ['model'] },
    'ui/resourceUri': 'ui://two/app/main.html',
    own: 'second',
  });
  const result = await ada.call('two__show');
  expect(result.content.slice(1)).toMatchObject([
    { type: 'resource_link', uri: 'ui://two/app/main.html' },
    { type: 'resource', resource: { uri: 'ui://two/app/main.html', text: 'second' } },
    { type: 'resource_link', uri: 'note://else' },
  ]);
  expect(result.structuredContent).toEqual({ link: PAGE });
  expect(result['_meta']).toMatchObject({ ui: { resourceUri: 'ui://two/app/main.html' }, view: 'second' });
  expect(await read(ada, 'ui://two/app/main.html')).toMatchObject({
    uri: 'ui://two/app/main.html',
    mimeType: 'text/html;profile=mcp-app',
    text: '<p>second</p>',
  });
});

test('a unique app address is kept, even if its page is not listed', async () => {
  const unlisted = new ToolRegistry().registerTool(
    defineTool(
      { name: 'show', description: 'Shows it.', _meta: { ui: { resourceUri: PAGE } } },
      () => 'shown',
    ),
  );
  const crib = await openApps(
    unlisted,
    new ToolRegistry().registerTool(defineTool({ name: 'other', description: 'Is another.' }, () => 'other')),
  );
  const ada = await crib.connect('ada');
  const { tools } = await ada.list();
  expect(tools.find(({ name }) => name === 'show')!['_meta']).toEqual({ ui: { resourceUri: PAGE } });
  // The server is asked: it is the one to say that it has no such page.
  expect((await ada.error('resources/read', { uri: PAGE })).message).toContain(
    'nothing for "resources/read"',
  );
  expect((await ada.error('resources/read', { uri: 'ui://app/other.html' })).message).toContain('other.html');
});

test('only a caller that has read an app may call the tools of its server by their own names', async () => {
  const crib = await openApps(appServer('first'), appServer('second'));
  const ada = await crib.connect('ada');
  const bob = await crib.connect('bob');
  await ada.list();
  const bare = { name: 'refresh', arguments: {} };
  expect((await ada.error('tools/call', bare)).message).toBe('Unknown tool: refresh');
  await read(ada, 'ui://two/app/main.html');
  expect((await ada.call('refresh')).content[0]!.text).toBe('refresh of second');
  expect(crib.rowsOf('two.refresh').at(-1)).toMatchObject({ outcome: 'done' });
  expect((await bob.error('tools/call', bare)).message).toBe('Unknown tool: refresh');
  const cyn = await crib.connect('cyn');
  expect((await cyn.error('tools/call', bare)).message).toBe('Unknown tool: refresh');
  // With both apps open, the name is ambiguous.
  await read(ada, 'ui://one/app/main.html');
  expect((await ada.error('tools/call', bare)).message).toBe('Unknown tool: refresh');
  expect((await ada.call('one__refresh')).content[0]!.text).toBe('refresh of first');
});

test('a tool name without a label calls the tool that is listed under it, whatever app was read', async () => {
  const own = defineTool({ name: 'refresh', description: 'Is our own.' }, () => 'our own');
  const url = await serve(appServer('first'));
  const crib = await openCrib({
    offers: [own],
    config: { mcpServers: { one: { url } }, access: [everythingForStaff] },
  });
  const ada = await crib.connect('ada');
  await ada.list();
  await read(ada, PAGE);
  expect((await ada.call('refresh')).content[0]!.text).toBe('our own');
  expect((await ada.call('one__refresh')).content[0]!.text).toBe('refresh of first');
});

test('access rules apply to a tool that an app calls by its own name', async () => {
  const urls = [await serve(appServer('first')), await serve(appServer('second'))];
  const crib = await openCrib({
    config: {
      mcpServers: { one: { url: urls[0]! }, two: { url: urls[1]! } },
      access: [{ roles: ['staff'], tools: ['two.refresh'], effect: 'deny' }, everythingForStaff],
    },
  });
  const ada = await crib.connect('ada');
  await ada.list();
  await read(ada, 'ui://two/app/main.html');
  expect((await ada.error('tools/call', { name: 'refresh', arguments: {} })).message).toBe(
    'Unknown tool: refresh',
  );
});
