import { expect, test } from 'vitest';
import { defineTool, ToolRegistry, createServer } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { makeUp, serve } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';
import { within } from '../within.ts';
import { scripted } from './upstream-programs.ts';

const plain = (name: string) => defineTool({ name, description: `Is ${name}.` }, () => name);
const namesOf = (list: { readonly tools: readonly { readonly [key: string]: unknown }[] }): unknown[] =>
  list.tools.map(({ name }) => name);

test('a reload keeps the connection of an unchanged entry, and changes which of its tools are shown', async () => {
  const server = await makeUp(() => false);
  const config = (more: object) => ({ mcpServers: { web: { url: server.url, ...more } } });
  const crib = await openCrib({ config: config({}) });
  const ada = await crib.connect('ada');
  expect(namesOf(await ada.list())).toEqual(['echo']);
  crib.configure(config({ rename: { echo: 'say' }, prefix: 'always' }));
  await crib.reload();
  expect(namesOf(await ada.list())).toEqual(['web__say']);
  expect(server.methods().filter((method) => method === 'server/discover')).toHaveLength(1);
});

test('a running call ends at its server after that server has left the configuration', async () => {
  let finish: () => void = () => {};
  let begun: () => void = () => {};
  const started = new Promise<void>((resolve) => (begun = resolve));
  const slow = defineTool({ name: 'slow', description: 'Waits.' }, () => {
    begun();
    return new Promise<string>((resolve) => (finish = () => resolve('ended')));
  });
  const url = await serve([slow]);
  const crib = await openCrib({ config: { mcpServers: { web: { url } } } });
  const ada = await crib.connect('ada');
  await ada.list();
  const call = ada.call('slow');
  await within(5_000, 'the call to begin', started);
  crib.configure({});
  await crib.reload();
  expect(namesOf(await ada.list())).toEqual([]);
  finish();
  expect((await call).content[0]!.text).toBe('ended');
});

test('the list of a server is kept while it is down, and refreshed when it is back', async () => {
  const registry = new ToolRegistry().registerTool(plain('here'));
  const first = await listen(createServer({ name: 'web', source: registry }), { port: 0 });
  const port = Number(new URL(first.url).port);
  const crib = await openCrib({
    config: { mcpServers: { web: { url: first.url } }, upstreams: { relistSeconds: 1 } },
  });
  const ada = await crib.connect('ada');
  expect(namesOf(await ada.list())).toEqual(['here']);
  await first.close(0);
  const failed = await ada.call('here');
  expect(failed.isError).toBe(true);
  expect(failed.content[0]!.text).toBe('web is not answering; try again later.');
  expect(namesOf(await ada.list())).toEqual(['here']);
  const second = await listen(createServer({ name: 'web', source: registry }), { port });
  expect((await ada.call('here')).content[0]!.text).toBe('here');
  await second.close(0);
});

test('calls of a program that exits fail, other servers continue, and it is started again', async () => {
  const url = await serve([plain('far')]);
  const crib = await openCrib({
    config: { mcpServers: { local: scripted('crashing'), web: { url } } },
  });
  const ada = await crib.connect('ada');
  expect(namesOf(await ada.list())).toEqual(['crash', 'far', 'pid', 'wait']);
  const pid = (await ada.call('pid')).content[0]!.text;
  const waiting = ada.call('wait');
  const crashed = ada.call('crash');
  // Long before a call that gets no answer would time out.
  for (const result of await within(10_000, 'the calls to fail', Promise.all([waiting, crashed])))
    expect(result.content[0]!.text).toBe('local is not answering; try again later.');
  expect((await ada.call('far')).content[0]!.text).toBe('far');
  const next = (await ada.call('pid')).content[0]!.text;
  expect(next).toMatch(/^\d+$/);
  expect(next).not.toBe(pid);
});

test('a definition that changes at the server is the one that callers list and call next', async () => {
  const registry = new ToolRegistry().registerTool(plain('open'), plain('hidden'));
  const url = await serve(registry);
  const crib = await openCrib({
    config: {
      mcpServers: { web: { url, pin: 'off' } },
      access: [
        { roles: ['lead'], tools: ['web.*'] },
        { roles: ['staff'], tools: ['web.open'] },
      ],
    },
  });
  const [ada, bob] = await Promise.all([
    crib.connect('ada', { version: '2025-11-25' }),
    crib.connect('bob', { version: '2025-11-25' }),
  ]);
  expect(namesOf(await ada.list())).toEqual(['hidden', 'open']);
  expect(namesOf(await bob.list())).toEqual(['open']);
  registry.replace(defineTool({ name: 'hidden', description: 'Is another.' }, () => 'new'));
  await within(
    5_000,
    'the new definition',
    (async () => {
      for (;;) {
        const tool = (await ada.list()).tools.find(({ name }) => name === 'hidden');
        if (tool?.['description'] === 'Is another.') return;
        await new Promise(setImmediate);
      }
    })(),
  );
  expect((await ada.call('hidden')).content[0]!.text).toBe('new');
});
