import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { localCaller } from '../../core/caller.ts';
import { UnreadAnswers } from './unread-answers.ts';

// More than the buffers of both ends of a connection take.
const BYTES = 96_000_000;
const PATIENCE_MS = 1_500;

test('a response that is read is not cut, however slowly it is read', async () => {
  const unread = new UnreadAnswers(undefined, PATIENCE_MS);
  const http = createServer((_request, response) => {
    response.end(Buffer.alloc(BYTES, 'x'));
    unread.watch(response, localCaller);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const startedAt = performance.now();
  const socket = connect((http.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    socket.pause();
    setTimeout(() => socket.resume(), 4);
  });
  await expect.poll(() => bytes, { timeout: 60_000 }).toBeGreaterThan(BYTES);
  expect(performance.now() - startedAt).toBeGreaterThan(2 * PATIENCE_MS);
}, 70_000);
