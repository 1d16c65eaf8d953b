import { expect, test } from 'vitest';
import { ECHO, makeUp, said, standard, type MadeUp } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';

/** A server with two tools, which answers no call once it is broken. */
async function breakable(): Promise<MadeUp & { breakDown(): void; calls(): number }> {
  let isBroken = false;
  const tools = ['one', 'two'].map((name) => ({ ...ECHO, name }));
  const server = await makeUp((got) => {
    if (got.body['method'] === 'tools/list') return got.reply({ tools, ttlMs: 0, cacheScope: 'public' });
    if (got.body['method'] !== 'tools/call') return standard(got);
    if (isBroken) return void got.response.writeHead(503).end();
    return got.reply(said('works'));
  });
  const calls = (): number => server.methods().filter((method) => method === 'tools/call').length;
  return { ...server, breakDown: () => (isBroken = true), calls };
}

test('after failures of one tool the other tools of its server are refused too, and other servers work', async () => {
  const [bad, good] = await Promise.all([breakable(), breakable()]);
  const shared = { prefix: 'always' as const };
  const crib = await openCrib({
    config: {
      mcpServers: { bad: { url: bad.url, ...shared }, good: { url: good.url, ...shared } },
      stages: { circuitBreak: { failures: 2 }, retry: false },
    },
  });
  const [ada, cyn] = await Promise.all([crib.connect('ada'), crib.connect('cyn')]);
  for (const name of ['bad__one', 'bad__two', 'good__one'])
    expect((await ada.call(name)).content[0]!.text).toBe('works');
  bad.breakDown();
  // What one tenant alone sees may be its own fault, so both see it.
  for (const peer of [ada, cyn])
    expect((await peer.call('bad__one')).content[0]!.text).toBe('bad is not answering; try again later.');
  const before = bad.calls();
  for (const peer of [ada, cyn])
    expect(await peer.call('bad__two')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^bad is not answering; try again in \d+ s\.$/) }],
      _meta: { 'dev.toolcrib/error': { code: 'upstream_unavailable' } },
    });
  expect(bad.calls()).toBe(before);
  expect((await ada.call('good__one')).content[0]!.text).toBe('works');
  expect((await cyn.call('good__two')).content[0]!.text).toBe('works');
});
