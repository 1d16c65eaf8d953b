import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, ToolRegistry } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { makeUp, standard, ECHO } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';
import { scripted, type Entry } from './upstream-programs.ts';

const CHANGED =
  /Nothing was done: the definition of \S+ changed while the call was on its way|Unknown tool: /;

/** The text of a result, or of the error there was in its place. */
async function outcome(
  call: Promise<{ readonly content: readonly { readonly text?: string }[] }>,
): Promise<string> {
  try {
    return (await call).content[0]!.text!;
  } catch (error) {
    return (error as Error).message;
  }
}

/** An entry for a program that is upgraded by writing a file. */
function upgradable(revision: string): { entry: Entry; upgrade: (description: string) => void } {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-upgraded-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'description');
  const upgrade = (description: string): void => writeFileSync(file, description);
  upgrade('Is old.');
  return { entry: scripted('upgraded', { env: { DESCRIPTION: file, REVISION: revision } }), upgrade };
}

test.each(['2025-11-25', '2026-07-28'])(
  'C4 a program of %s that comes back with another definition is not called by the old one',
  async (revision) => {
    const { entry, upgrade } = upgradable(revision);
    const crib = await openCrib({ config: { mcpServers: { shop: entry } } });
    const [ada, bob] = [await crib.connect('ada'), await crib.connect('bob')];
    await ada.list();
    expect(await outcome(ada.call('pay'))).toBe('paid by: Is old.');
    upgrade('Is new.');
    await outcome(ada.call('exit'));
    expect(await outcome(ada.call('pay'))).toMatch(CHANGED);
    // Where callers have processes of their own, this one is the first of the new version for its caller.
    expect(await outcome(bob.call('pay'))).toMatch(CHANGED);
    expect((await ada.list()).tools.map(({ name }) => name)).toEqual(['exit']);
  },
);

test('C4 a server that was down and comes back with another definition is not called by the old one', async () => {
  const plain = (description: string): ToolRegistry =>
    new ToolRegistry().registerTool(defineTool({ name: 'pay', description }, () => description));
  const serveAt = (description: string, port: number) =>
    listen(createServer({ name: 'web', source: plain(description) }), { port });
  const first = await serveAt('Is old.', 0);
  const crib = await openCrib({ config: { mcpServers: { web: { url: first.url } } } });
  const ada = await crib.connect('ada');
  await ada.list();
  expect(await outcome(ada.call('pay'))).toBe('Is old.');
  await first.close(0);
  const second = await serveAt('Is new.', Number(new URL(first.url).port));
  onTestFinished(() => second.close(0));
  // The first call may find out that the old server is gone.
  const seen = [
    await outcome(ada.call('pay')),
    await outcome(ada.call('pay')),
    await outcome(ada.call('pay')),
  ];
  expect(seen).not.toContain('Is new.');
  await expect.poll(() => outcome(ada.call('pay')), { timeout: 10_000 }).toMatch(CHANGED);
});

test('C4 what a server changed while nobody could be told of it counts for the next call', async () => {
  let description = 'Is old.';
  let isTelling = true;
  const server = await makeUp((got) => {
    const { method } = got.body as { method: string };
    if (method === 'tools/list')
      return got.reply({ tools: [{ ...ECHO, description }], ttlMs: 0, cacheScope: 'private' });
    if (method === 'subscriptions/listen' && isTelling) {
      const send = got.stream();
      send({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: {} });
      end = () => got.response.destroy();
      return;
    }
    if (method === 'subscriptions/listen') return got.refuse(-32603, 'Later.', { status: 503 });
    return standard(got);
  });
  let end: () => void = () => {};
  const crib = await openCrib({ config: { mcpServers: { web: { url: server.url } } } });
  const ada = await crib.connect('ada');
  await ada.list();
  expect(await outcome(ada.call('echo'))).not.toMatch(CHANGED);
  isTelling = false;
  description = 'Is new.';
  end();
  await expect.poll(() => outcome(ada.call('echo')), { timeout: 10_000 }).toMatch(CHANGED);
});
