import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ToolRegistry } from '../core/registry.ts';
import { createServer } from './create-server.ts';
import { serveStdio } from './stdio.ts';

const ping = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`;

test('a line that is too long is refused, and the next line is answered', async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(createServer({ source: new ToolRegistry() }), { input, output });
  input.write('x'.repeat(5_000_000));
  input.end(`\n${ping(1)}`);
  await served;
  output.end();
  const answers = (await text(output))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answers).toMatchObject([{ error: { code: -32600 } }, { id: 1, result: {} }]);
});

test('nothing more is read from a client that does not read', async () => {
  const input = new PassThrough();
  const resume: (() => void)[] = [];
  const written: string[] = [];
  const output = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString());
      resume.push(done);
    },
  });
  const served = serveStdio(createServer({ source: new ToolRegistry() }), { input, output });
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await setImmediate();
  };

  input.write(ping(1));
  await turns();
  expect(written).toHaveLength(1);
  for (let id = 2; id <= 5; id++) {
    input.write(ping(id));
    await turns();
  }
  // One chunk may already have been on its way when the client stopped reading.
  expect(input.readableLength).toBeGreaterThanOrEqual(ping(2).length * 3);

  input.end();
  const answered = served.then(() => true);
  while (resume.length > 0) {
    resume.shift()!();
    await turns();
  }
  expect(await answered).toBe(true);
  expect(written.join('').trimEnd().split('\n')).toHaveLength(5);
});
