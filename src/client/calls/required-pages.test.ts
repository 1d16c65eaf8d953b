import { expect, test } from 'vitest';
import type { Client, QuestionHandlers } from '../../index.ts';
import { answerHandshake } from '../../../test/gateway/bridge.ts';
import { makeUp, open, said, standard, ECHO, type Got, type MadeUp } from '../../../test/client/peers.ts';

const page = (number: number): object => ({
  mode: 'url',
  message: 'Sign in.',
  url: 'https://example.com/in',
  elicitationId: `visit-${number}`,
});

/** A server of 2025-11-25 that wants pages visited as often as `required` says, and a client that is asked. */
async function requiring(
  required: (calls: number) => readonly object[] | undefined,
  handlers: QuestionHandlers,
): Promise<{ readonly client: Client; readonly server: MadeUp }> {
  let calls = 0;
  const server = await makeUp((got: Got) => {
    const { method } = got.body;
    if (answerHandshake(got, { resources: {} })) return;
    if (method !== 'tools/call' && method !== 'resources/read') return standard(got);
    const elicitations = required(++calls);
    if (elicitations) return got.refuse(-32042, 'Sign in first.', { data: { elicitations } });
    if (method === 'tools/call') return got.reply(said('signed in'));
    return got.reply({ contents: [{ uri: 'note://a', text: 'signed in' }] });
  });
  return { client: await open(server.url, { protocol: '2025-11-25', handlers }), server };
}

function callsOf(server: MadeUp): unknown[] {
  return server.got.filter(({ body }) => body['method'] === 'tools/call').map(({ body }) => body['params']);
}

test('a page that an older server wants visited first is shown, and the call is made again', async () => {
  const shown: unknown[] = [];
  const { client, server } = await requiring((calls) => (calls === 1 ? [page(1), page(2)] : undefined), {
    url: (asked, { server: label }) => {
      shown.push([asked.message, asked.url, label === server.url || label.includes('127.0.0.1')]);
      return { action: 'accept' };
    },
  });
  expect(await client.callTool('echo', { text: 'hi' }).text()).toBe('signed in');
  const both = ['Sign in.', 'https://example.com/in', true];
  expect(shown).toEqual([both, both]);
  const [first, second, ...more] = callsOf(server);
  expect(second).toEqual(first);
  expect(more).toEqual([]);
});

test('a resource that wants a page visited first is read again after the visit', async () => {
  const { client } = await requiring((calls) => (calls === 1 ? [page(1)] : undefined), {
    url: () => ({ action: 'accept' }),
  });
  expect(await client.readResource('note://a')).toMatchObject({ contents: [{ text: 'signed in' }] });
});

for (const action of ['decline', 'cancel'] as const)
  test(`a call whose page the person answers with ${action} is not made again`, async () => {
    const { client, server } = await requiring(() => [page(1)], { url: () => ({ action }) });
    await expect(client.callTool('echo')).rejects.toMatchObject({
      code: 'cannot_ask',
      message: 'The page that this needs was not opened.',
    });
    expect(callsOf(server)).toHaveLength(1);
  });

test('a server that keeps wanting other pages visited is given up after ten rounds', async () => {
  let shown = 0;
  const { client, server } = await requiring((calls) => [page(calls)], {
    url: () => {
      shown++;
      return { action: 'accept' };
    },
  });
  await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'cannot_ask' });
  expect([shown, callsOf(server).length]).toEqual([10, 11]);
});

test('nobody is asked twice for one page while the server waits for the visit to end', async () => {
  let shown = 0;
  const { client } = await requiring((calls) => (calls <= 2 ? [page(1)] : undefined), {
    url: () => {
      shown++;
      return { action: 'accept' };
    },
  });
  expect(await client.callTool('echo').text()).toBe('signed in');
  expect(shown).toBe(1);
});

test('a page that is no http address is not shown', async () => {
  const shown: string[] = [];
  const { client } = await requiring(() => [{ ...page(1), url: 'file:///etc/passwd' }], {
    url: ({ url }) => {
      shown.push(url);
      return { action: 'accept' };
    },
  });
  await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'invalid_params' });
  expect(shown).toEqual([]);
});

test('without a handler for pages the error of the server tells which to visit', async () => {
  const { client } = await requiring(() => [page(1)], {});
  await expect(client.callTool(ECHO.name)).rejects.toMatchObject({
    number: -32042,
    data: { elicitations: [page(1)] },
  });
});
