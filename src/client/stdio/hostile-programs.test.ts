import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../../index.ts';
import { connectStdio } from '../../node.ts';
import { within } from '../../../test/within.ts';
import { programOf, runProgram } from '../../../test/client/programs.ts';

/** What a program does with a call, in JavaScript, and the code of the error that must come of it. */
const acts = [
  ['never answers', '', 'timed_out'],
  ['answers another request', 'write({ id: 999, result: said })', 'timed_out'],
  ['answers with an id of another type', 'write({ id: String(id), result: said })', 'timed_out'],
  ['writes what is no message', `raw('{"jsonrpc":\\n[[[[\\n\\u0000\\n"x"\\n[]\\n')`, 'timed_out'],
  ['writes bytes that are no text', `raw(Buffer.from([0xff, 0xfe, 10, 0xc3, 10]))`, 'timed_out'],
  ['writes a line without end', `repeat(() => raw('x'.repeat(10_000)))`, 'timed_out'],
  ['answers with too much', `write({ id, result: { ...said, x: 'x'.repeat(200_000) } })`, 'timed_out'],
  ['answers with a list', 'write({ id, result: [] })', 'timed_out'],
  ['answers with a result and an error', 'write({ id, result: said, error: {} })', 'timed_out'],
  [
    'answers with bottomless JSON',
    `raw('{"id":' + id + ',"result":' + '['.repeat(5_000) + '\\n')`,
    'timed_out',
  ],
  ['announces changes without end', `repeat(() => write(changed))`, 'timed_out'],
  ['sends messages without end', `repeat(() => write(log))`, 'timed_out'],
  ['reports progress without end', `repeat(() => write(progress(id)))`, 'invalid_answer'],
  ['asks without end', `repeat(() => write({ id: 'q' + count++, method: 'ping' }))`, 'timed_out'],
] as const;

const cases = acts.map(([title, act]) => `if (params.name === '${title}') { ${act} }`);
const hostile = `({ id, method, params }) => {
  if (method === 'server/discover') return write({ id, result: discovered });
  if (method === 'tools/list') return write({ id, result: none });
  if (method !== 'tools/call') return;
  ${cases.join('\n')}
  if (params.name !== 'good') return;
  clearInterval(timer);
  raw('\\n');
  write({ id, result: said });
};
const none = { resultType: 'complete', tools: [], ttlMs: 60_000, cacheScope: 'private' };
const said = { resultType: 'complete', content: [{ type: 'text', text: 'well behaved' }] };
const log = { method: 'notifications/message', params: { level: 'info', data: 'x' } };
const changed = { method: 'notifications/tools/list_changed' };
const progress = (id) => ({ method: 'notifications/progress', params: { progressToken: id, progress: count++ } });
const raw = (bytes) => process.stdout.write(bytes);
let timer, count = 0;
const repeat = (act) => { timer = setInterval(() => { for (let n = 0; n < 100; n++) act(); }, 1); }`;

let client: Client;

beforeAll(async () => {
  const options = { limits: { messageBytes: 100_000, messagesPerRequest: 500 } };
  client = await connectStdio(process.execPath, ['-e', programOf(hostile)], options);
});

afterAll(() => client.close());

test.each(acts)('C9 a program that %s fails its call, and the next one works', async (title, _act, code) => {
  const limit = code === 'timed_out' ? { timeoutMs: 100 } : {};
  const call = client.callTool(title, {}, { onProgress: () => {}, ...limit });
  await expect(within(5_000, 'the call to end', call)).rejects.toMatchObject({ code });
  expect(await within(5_000, 'the next call', client.callTool('good').text())).toBe('well behaved');
  expect(client.underWay).toBe(0);
});

test('C9 the first of two answers of a program counts', async () => {
  const twice = await runProgram(`({ id, method }) => {
    if (method === 'server/discover') return write({ id, result: discovered });
    write({ id, result: { resultType: 'complete', turn: 1 } });
    write({ id, result: { resultType: 'complete', turn: 2 } });
  }`);
  expect(await twice.request('acme/a')).toMatchObject({ turn: 1 });
  expect(await twice.request('acme/b')).toMatchObject({ turn: 1 });
});

test('C9 a program that ends in the middle of a line fails its calls at once', async () => {
  const dying = await runProgram(`({ id, method }) => {
    if (method === 'server/discover') return write({ id, result: discovered });
    process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"resu', () => process.exit(1));
  }`);
  const call = within(5_000, 'the request to fail', dying.request('acme/a'));
  await expect(call).rejects.toMatchObject({ code: 'upstream_unavailable' });
  expect(dying.underWay).toBe(0);
});

test('C9 what a program says of one call of several is held against that call alone', async () => {
  const several = await runProgram(
    `({ id, method, params }) => {
      if (method === 'server/discover') return write({ id, result: discovered });
      if (method === 'acme/quiet') quiet = id;
      if (method !== 'acme/loud') return;
      for (let count = 0; count < 600; count++)
        write({ method: 'notifications/progress', params: { progressToken: id, progress: count } });
      write({ id: quiet, result: { resultType: 'complete' } });
    }; let quiet`,
    { limits: { messagesPerRequest: 500 } },
  );
  const quiet = several.request('acme/quiet');
  const loud = several.request('acme/loud', {}, { onProgress: () => {} });
  await expect(within(5_000, 'the loud one', loud)).rejects.toMatchObject({ code: 'invalid_answer' });
  expect(await within(5_000, 'the quiet one', quiet)).toEqual({ resultType: 'complete' });
});
