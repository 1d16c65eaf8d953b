import { expect, test } from 'vitest';
import { parseSseMessages } from './sse-messages.ts';

const MARK = '\uFEFF';

test.each([
  ['a mark at the beginning', `${MARK}data: 1\n\n`, [1]],
  ['carriage returns', 'data: {"a":\rdata: 1}\r\rdata: 2\r\r:', [{ a: 1 }, 2]],
  ['other events, comments and ids', 'event: ping\ndata: x\n\n: hi\nid: 1\nretry: 5\ndata:"b"\n\n', ['b']],
  ['an event without data, and one that is not complete', 'event: message\n\ndata\n\ndata: 1', []],
])('a stream with %s gives the same messages for any split of its bytes', async (_what, text, messages) => {
  for (const size of [1, 2, 5, 1_000]) expect(await readAll(text, size)).toEqual(messages);
});

test('a stream without async iteration, as in some browsers, is read and then cancelled', async () => {
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
    cancel: () => void (isCancelled = true),
  });
  const old = { getReader: () => stream.getReader() } as ReadableStream<Uint8Array>;
  for await (const message of parseSseMessages(old)) {
    expect(message).toBe(1);
    break;
  }
  expect(isCancelled).toBe(true);
});

test.each([
  ['one long line', `data: ${'x'.repeat(200)}`],
  ['many lines', 'data: x\n'.repeat(30)],
])('an event over the limit, of %s, ends the stream with an error', async (_what, text) => {
  for (const size of [7, 1_000])
    await expect(readAll(`data: 1\n\n${text}`, size)).rejects.toMatchObject({ code: 'invalid_answer' });
});

test('an event that is not JSON ends the stream with an error', async () => {
  await expect(readAll('data: {\n\n', 10)).rejects.toMatchObject({ code: 'invalid_answer' });
});

async function readAll(text: string, size: number): Promise<unknown[]> {
  const bytes = new TextEncoder().encode(text);
  const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const messages: unknown[] = [];
  for await (const message of parseSseMessages(ReadableStream.from(parts), { maxEventBytes: 100 }))
    messages.push(message);
  return messages;
}
