import { expect, onTestFinished, test } from 'vitest';
import { createServer, defineTool, type Caller, type Server } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { ada } from '../behaviour/matrix.ts';
import { EventReader, openSession, sendOverSocket } from '../behaviour/session-client.ts';
import { open, serve, serveSource } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';
import { within } from '../within.ts';
import { workbench } from './upstream-programs.ts';

const bob: Caller = { ...ada, id: 'bob' };
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'near', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
};

/** Our server in front of a program with a handshake, whose messages all come on one connection. */
async function startNear(): Promise<Server> {
  const { command, args } = workbench() as { command: string; args: string[] };
  const source = await connectStdio(command, args, {
    protocol: '2025-11-25',
    capabilities: { elicitation: { form: {} } },
  });
  onTestFinished(() => source.close());
  return createServer({ source, log: () => {} });
}

async function fill(near: Server, caller: Caller): Promise<unknown> {
  const params = { name: 'fill', arguments: {}, _meta: META };
  const asked = near.handle({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { caller });
  return within(5_000, 'an answer', asked);
}

test('a question without an answer does not stop other calls of the same caller from asking', async () => {
  const near = await startNear();
  expect(await fill(near, ada)).toMatchObject({ result: { resultType: 'input_required' } });
  expect(await fill(near, ada)).toMatchObject({ result: { resultType: 'input_required' } });
});

test('a caller never gets questions over a connection on which another caller’s calls wait', async () => {
  const near = await startNear();
  expect(await fill(near, ada)).toMatchObject({ result: { resultType: 'input_required' } });
  expect(JSON.stringify(await fill(near, bob))).not.toContain('input_required');
});

test("when the upstream closes the stream of a call, the client's stream closes too and it reconnects for the result", async () => {
  let finish = (): void => {};
  const long = defineTool({ name: 'long', description: 'Takes long.' }, async (_args, { closeStream }) => {
    closeStream();
    await new Promise<void>((resolve) => (finish = resolve));
    return 'done';
  });
  const url = await serveSource(await open(await serve([long]), { protocol: '2025-11-25' }));
  const session = await openSession({ send: (request) => sendOverSocket(url, request) });
  const begun = await new EventReader(await session.call('long')).rest();
  expect(begun).toMatchObject([{ data: '' }]);
  finish();
  const event = await (await session.stream(begun[0]!.id)).next();
  expect(JSON.parse(event!.data!)).toMatchObject({ result: { content: [{ text: 'done' }] } });
});

test('a tool of an upstream that requires a missing capability is refused like a local tool', async () => {
  const picky = defineTool(
    { name: 'picky', description: 'Needs a model.', requires: ['sampling'] },
    () => 'done',
  );
  const crib = await openCrib({ config: { mcpServers: { far: { url: await serve([picky]) } } } });
  const client = await crib.connect('ada');
  expect(await client.error('tools/call', { name: 'picky', arguments: {} })).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { sampling: {} } },
  });
});
