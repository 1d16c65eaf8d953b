import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { localCaller } from '../../core/caller.ts';
import { CallerLimit } from '../caller-limit.ts';
import { UnreadAnswers } from './unread-answers.ts';

// More than the buffers of both ends of a connection take.
const BYTES = 48_000_000;

/** Answers every request at length; `closed` says of each that is over whether all of it was taken. */
async function openTarget(unread: UnreadAnswers) {
  const closed: boolean[] = [];
  const body = Buffer.alloc(BYTES, 'x');
  const http = createServer((_request, response) => {
    response.end(body);
    unread.watch(response, localCaller);
    // What is cut is finished, too.
    let isTaken = false;
    response.once('finish', () => (isTaken = !response.destroyed)).once('close', () => closed.push(isTaken));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const ask = (): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    return socket;
  };
  return { ask, closed };
}

test('a response that nobody reads is cut after a while, and no longer counts', async () => {
  const limit = new CallerLimit('answers', { total: 10, perCaller: 1 });
  const { ask, closed } = await openTarget(new UnreadAnswers(limit, 100));
  ask().pause();
  await expect.poll(() => closed, { timeout: 5_000 }).toEqual([false]);
  expect(() => limit.take(localCaller)).not.toThrow();
});

test('a response over the unread limit of its caller is cut at once', async () => {
  const limit = new CallerLimit('answers', { total: 10, perCaller: 2 });
  const { ask, closed } = await openTarget(new UnreadAnswers(limit));
  for (let count = 0; count < 3; count++) ask().pause();
  await expect.poll(() => closed, { timeout: 5_000 }).toEqual([false]);
});
