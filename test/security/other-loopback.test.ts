import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createServer, ToolRegistry } from '../../src/index.ts';
import { listen } from '../../src/node.ts';

test('A1 a server on another loopback address is reached by this address and the usual names, and by no other', async () => {
  const server = createServer({ name: 'local', source: new ToolRegistry() });
  const listening = await listen(server, { host: '127.0.0.2', port: 0 });
  onTestFinished(() => listening.close());
  const { port } = new URL(listening.url);
  const statusFor = (host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { host, 'content-type': 'application/json' };
      const sent = request({ host: '127.0.0.2', port, path: '/mcp', method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject).setTimeout(10_000, () => sent.destroy(new Error('There was no answer.')));
      sent.end('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    });
  expect(await statusFor(`127.0.0.2:${port}`)).not.toBe(403);
  expect(await statusFor(`localhost:${port}`)).not.toBe(403);
  expect(await statusFor(`127.0.0.3:${port}`)).toBe(403);
  expect(await statusFor(`127.0.0.2.nip.io:${port}`)).toBe(403);
});
