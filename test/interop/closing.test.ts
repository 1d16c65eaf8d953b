import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { listen, type Listening } from 'toolcrib/node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { deferred } from '../behaviour/deferred.ts';
import { cells } from './cells.ts';
import type { Address } from './clients.ts';

// Far longer than a test may take, so that nothing is cut off to make the server close.
const GRACE_MS = 600_000;

const networked = cells.filter(({ transport }) => transport !== 'stdio');

function addressOf({ url }: Listening, transport: string): Address {
  return transport === 'SSE' ? { url: new URL('/sse', url).href, sse: true } : { url };
}

describe.each(networked)('$kind over $transport:', ({ transport, connect }) => {
  test('a connected client does not keep a server from closing', async () => {
    const greet = defineTool({ name: 'greet', description: 'Greets.' }, () => 'hello');
    const server = createServer({ source: new ToolRegistry().registerTool(greet) });
    const listening = await listen(server, { port: 0, sse: true });
    const client = await connect(addressOf(listening, transport));
    onTestFinished(() => client.close());
    expect(await client.callTool('greet')).toMatchObject({ content: [{ text: 'hello' }] });
    await listening.close(GRACE_MS);
  });

  test('a client gets the response to a call that is running when the server closes', async () => {
    const [started, released] = [deferred(), deferred()];
    const wait = defineTool({ name: 'wait', description: 'Waits.' }, async () => {
      started.resolve();
      await released.promise;
      return 'in time';
    });
    const server = createServer({ source: new ToolRegistry().registerTool(wait) });
    const listening = await listen(server, { port: 0, sse: true });
    const client = await connect(addressOf(listening, transport));
    onTestFinished(() => client.close());
    const called = client.callTool('wait');
    await started.promise;
    const closed = listening.close(GRACE_MS);
    released.resolve();
    expect(await called).toMatchObject({ content: [{ text: 'in time' }] });
    await closed;
  });
});
