import { expect, test } from 'vitest';
import { z } from 'zod';
import { definePrompt, defineResource, defineTool, ToolRegistry } from '../../src/index.ts';
import { serve } from '../client/peers.ts';
import { everythingForStaff, openCrib } from '../gateway.ts';
import { workbench } from './upstream-programs.ts';

const echo = (name: string, say = name) =>
  defineTool(
    { name, description: `Says it as ${say}.`, input: z.object({ text: z.string() }) },
    ({ text }) => `${say}: ${text}`,
  );
const names = (list: { readonly tools: readonly { readonly [key: string]: unknown }[] }): unknown[] =>
  list.tools.map(({ name }) => name);

test('tools of a remote and of a local server are served beside our own, and can be called', async () => {
  const url = await serve([echo('far_echo')]);
  const crib = await openCrib({
    offers: [echo('near_echo')],
    config: { mcpServers: { web: { url }, desk: workbench({ tools: ['structured'] }) } },
  });
  const ada = await crib.connect('ada');
  expect(names(await ada.list())).toEqual(['far_echo', 'near_echo', 'structured']);
  expect((await ada.call('far_echo', { text: 'a' })).content[0]!.text).toBe('far_echo: a');
  expect((await ada.call('structured', { a: 1, b: 2 })).structuredContent).toEqual({ sum: 3 });
  expect((await ada.call('near_echo', { text: 'b' })).content[0]!.text).toBe('near_echo: b');
  expect(crib.rowsOf('web.far_echo').map(({ outcome }) => outcome)).toEqual([undefined, 'done']);
});

test('equal tool names get the label of their server, our own names stay, and rules name server and tool', async () => {
  const one = await serve([echo('search', 'one'), echo('ours', 'one')]);
  const two = await serve([echo('search', 'two'), echo('secret', 'two')]);
  const crib = await openCrib({
    offers: [echo('ours', 'own')],
    config: {
      mcpServers: { first: { url: one }, second: { url: two, label: 's' } },
      access: [
        { roles: ['staff'], tools: ['second.secret'], effect: 'deny' },
        { roles: ['staff'], tools: ['first.*', 'second.*', 'ours'] },
      ],
    },
  });
  const ada = await crib.connect('ada');
  expect(names(await ada.list())).toEqual(['first__ours', 'first__search', 'ours', 's__search']);
  expect((await ada.call('s__search', { text: 'x' })).content[0]!.text).toBe('two: x');
  expect((await ada.call('ours', { text: 'x' })).content[0]!.text).toBe('own: x');
  expect((await ada.error('tools/call', { name: 'secret', arguments: { text: 'x' } })).message).toBe(
    'Unknown tool: secret',
  );
});

test('a server that cannot be reached does not affect the others', async () => {
  const url = await serve([echo('far_echo')]);
  const crib = await openCrib({
    config: { mcpServers: { gone: { url: 'http://127.0.0.1:1/mcp' }, web: { url } } },
  });
  const ada = await crib.connect('ada');
  expect(names(await ada.list())).toEqual(['far_echo']);
  expect((await ada.call('far_echo', { text: 'a' })).content[0]!.text).toBe('far_echo: a');
});

test('prompts and resources are served too, and equal addresses get the label of their server', async () => {
  const registryOf = (say: string): ToolRegistry =>
    new ToolRegistry()
      .registerTool(echo(`echo_${say}`))
      .registerPrompt(definePrompt({ name: 'greet', description: 'Greets.' }, () => `Hello from ${say}`))
      .registerResource(
        defineResource(
          { uri: 'ui://app/main.html', name: 'app', mimeType: 'text/html' },
          () => `<p>${say}</p>`,
        ),
        defineResource({ uri: `note://${say}`, name: say }, () => say),
      );
  const crib = await openCrib({
    config: {
      mcpServers: { a: { url: await serve(registryOf('one')) }, b: { url: await serve(registryOf('two')) } },
      access: [everythingForStaff],
    },
  });
  const ada = await crib.connect('ada');
  const { prompts } = (await ada.result('prompts/list')) as { prompts: { name: string }[] };
  expect(prompts.map(({ name }) => name)).toEqual(['a__greet', 'b__greet']);
  const { resources } = (await ada.result('resources/list')) as { resources: { uri: string }[] };
  expect(resources.map(({ uri }) => uri)).toEqual([
    'note://one',
    'note://two',
    'ui://a/app/main.html',
    'ui://b/app/main.html',
  ]);
  const read = (await ada.result('resources/read', { uri: 'ui://b/app/main.html' })) as {
    contents: { uri: string; text: string }[];
  };
  expect(read.contents).toEqual([{ uri: 'ui://b/app/main.html', mimeType: 'text/html', text: '<p>two</p>' }]);
  const got = (await ada.result('prompts/get', { name: 'a__greet' })) as {
    messages: { content: { text: string } }[];
  };
  expect(got.messages[0]!.content.text).toBe('Hello from one');
});
