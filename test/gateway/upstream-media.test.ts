import { expect, test } from 'vitest';
import { ECHO, makeUp, standard } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';

const GIF = Buffer.from('GIF89a<script>alert(1)</script>').toString('base64');
const block = (mimeType: string): object => ({ type: 'image', data: GIF, mimeType });

test('C9 pictures of a server are relabelled where their bytes contradict it, in results and in prompts', async () => {
  const server = await makeUp((got) => {
    const { method, params } = got.body;
    const { arguments: args } = (params ?? {}) as { arguments?: { text?: string } };
    const said = block(args?.text ?? '');
    switch (method) {
      case 'server/discover':
        return got.reply({
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {}, prompts: {} },
          ttlMs: 0,
          cacheScope: 'private',
        });
      case 'prompts/list':
        return got.reply({
          prompts: [{ name: 'look', arguments: [{ name: 'text' }] }],
          ttlMs: 0,
          cacheScope: 'private',
        });
      case 'prompts/get':
        return got.reply({ messages: [{ role: 'user', content: said }] });
      case 'tools/call':
        return got.reply({ content: [said, { type: 'text', text: 'x' }] });
      default:
        standard(got);
    }
  });
  const crib = await openCrib({ config: { mcpServers: { far: { url: server.url } } } });
  const ada = await crib.connect('ada');
  await ada.list();
  for (const [told, shown] of [
    ['text/html', 'image/gif'],
    ['image/png', 'image/gif'],
    ['image/gif', 'image/gif'],
  ] as const) {
    expect((await ada.call(ECHO.name, { text: told })).content[0]).toEqual(block(shown));
    const prompt = await ada.result('prompts/get', { name: 'look', arguments: { text: told } });
    expect(prompt).toMatchObject({ messages: [{ content: block(shown) }] });
  }
});
