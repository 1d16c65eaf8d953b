import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { expectHeld, heldBytes } from '../held-bytes.ts';
import { within } from '../within.ts';
import { makeUp, open, said, standard } from './peers.ts';
import { runProgram } from './programs.ts';

const BYTES = 200_000;
// An object for each byte would take four times as much.
const MOST_HELD = 6_000_000;
const FLOOD = 100_000;
const LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}';

const piece = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const write = (socket: Socket, text: string): Promise<void> =>
  new Promise((resolve, reject) => socket.write(text, (error) => (error ? reject(error) : resolve())));

test.each([
  ['an answer byte by byte', 'application/json', ' ', ' '],
  ['a line of an event byte by byte', 'text/event-stream', 'data: ', ' '],
  ['an event line by empty line', 'text/event-stream', 'data: ', '\ndata:'],
])(
  'C9 a server that sends %s makes a client hold little more than was sent',
  async (...[, type, first, next]) => {
    let begin = (_socket: Socket): void => {};
    const began = new Promise<Socket>((resolve) => (begin = resolve));
    const server = await makeUp((got) => {
      if (got.body['method'] === 'acme/drip') begin(got.request.socket);
      else standard(got);
    });
    const client = await open(server.url);
    const request = client.request('acme/drip');
    request.catch(() => {});
    const socket = await within(5_000, 'the request', began);
    const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`;
    await write(socket, head + piece(first));
    const before = heldBytes();
    const pieces = piece(next).repeat(10_000);
    for (let sent = 0; sent < BYTES; sent += 10_000)
      await within(5_000, 'the client to read', write(socket, pieces));
    await expectHeld(before, MOST_HELD);
    socket.destroy();
    await expect(request).rejects.toMatchObject({ code: 'upstream_unavailable' });
  },
);

test(`C9 ${FLOOD} messages of a server over HTTP end the call that they came for, and none of them is kept`, async () => {
  let heard = 0;
  const server = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    const send = got.stream();
    got.response.on('error', () => {});
    got.response.write(`data: ${LOG}\n\n`.repeat(FLOOD));
    send({ id: got.body['id'], result: said('done') });
    got.response.end();
  });
  const client = await open(server.url);
  client.on('log', () => heard++);
  const call = within(10_000, 'the call to end', client.callTool('echo'));
  await expect(call).rejects.toMatchObject({ code: 'invalid_answer' });
  expect(heard).toBe(10_000);
});

test(`C9 ${FLOOD} messages of a program are heard one by one, and none of them is kept`, async () => {
  const client = await runProgram(`({ id, method }) => {
    if (method === 'server/discover') return write({ id, result: discovered });
    process.stdout.write('${LOG}\\n'.repeat(${FLOOD}));
    write({ id, result: { resultType: 'complete' } });
  }`);
  let heard = 0;
  client.on('log', () => heard++);
  const before = heldBytes();
  await within(15_000, 'the answer', client.request('acme/x'));
  expect(heard).toBe(FLOOD);
  await expectHeld(before, MOST_HELD / 4);
});
