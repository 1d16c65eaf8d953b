import { createHook } from 'node:async_hooks';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateSync,
} from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { localCaller } from '../../src/core/caller.ts';
import { createServer } from '../../src/server/create-server.ts';
import { recordingSource } from '../../src/testing.ts';
import {
  callBody,
  deliver,
  goodCall,
  gotThrough,
  knock,
  launch,
  versions,
  withBody,
  withExtra,
  withHeader,
  type Attack,
} from './attack.ts';
import { signsIn } from './people.ts';
import { leakedAnswers, talk, toBytes } from './raw-http.ts';
import { routes } from './routes.ts';
import { careless, danger, product } from './target.ts';

const asItIs = (text: string): Buffer => Buffer.from(text);

const encodings: readonly [encoding: string, encode: (text: string) => Buffer][] = [
  ['br', (text) => brotliCompressSync(text)],
  ['BR', (text) => brotliCompressSync(text)],
  ['gzip', (text) => gzipSync(text)],
  ['x-gzip', (text) => gzipSync(text)],
  ['deflate', (text) => deflateSync(text)],
  ['gzip, gzip', (text) => gzipSync(gzipSync(text))],
  ['identity, br', (text) => brotliCompressSync(text)],
  ['br, identity', (text) => brotliCompressSync(text)],
  ['zstd', asItIs],
  ['compress', asItIs],
  ['identity, identity', asItIs],
  ['identity;q=1', asItIs],
  ['*', asItIs],
  ['', asItIs],
];

const attacks = encodings.map(([encoding, encode]): Attack => ({
  name: `a body declared as "${encoding}"`,
  change: (good) => withHeader(withBody(good, encode(good.body as string)), 'Content-Encoding', encoding),
  status: 415,
  code: -32600,
}));

for (const version of versions) {
  for (const attack of attacks) {
    test(`A7 ${attack.name} is refused in ${version} and nothing is decompressed`, async () => {
      const target = await product();
      const good = goodCall(version, target.port);
      const request = attack.change(good, target.port);
      const decoders = countDecoders();
      const { answer, ran } = await deliver(target, request);
      expect({ status: answer.status, code: answer.json?.error?.code, ran }).toEqual({
        status: 415,
        code: -32600,
        ran: 0,
      });
      expect(decoders()).toBe(0);
    });
  }

  test(`A7 control: a server that decompresses accepts every body of ${version}, and its decoders are noticed`, async () => {
    const target = await careless(decode);
    const decoders = countDecoders();
    expect(await gotThrough(target, attacks, version)).toEqual(attacks.map(({ name }) => name));
    expect(decoders()).toBeGreaterThan(0);
  });

  test.each(['identity', 'Identity', ' identity '])(
    `A7 a body declared as "%s" is read in ${version}`,
    async (encoding) => {
      const target = await product();
      const { answer, ran } = await deliver(
        target,
        withHeader(goodCall(version, target.port), 'Content-Encoding', encoding),
      );
      expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
    },
  );

  test(`A7 a second Content-Encoding is refused in ${version}`, async () => {
    const change: Attack['change'] = (good) =>
      withExtra(withHeader(good, 'Content-Encoding', 'identity'), 'Content-Encoding', 'br');
    const outcome = await launch(await product(), { name: 'two encodings', change, status: 400 }, version);
    expect(outcome).toEqual({ status: 400, code: -32600, ran: 0 });
  });
}

for (const route of routes) {
  test.each(encodings)(
    `A7 a body declared as "%s" is refused for ${route.name}, and the good request is served afterwards`,
    async (encoding, encode) => {
      const target = await product({ ...signsIn, sse: true });
      const good = await route.good(target);
      const body = good.body === '' ? '' : encode(good.body as string);
      const decoders = countDecoders();
      const outcome = await knock(target, withHeader(withBody(good, body), 'Content-Encoding', encoding));
      expect([outcome, decoders()]).toEqual([{ status: 415, ran: 0 }, 0]);
      expect((await knock(target, good)).status).toBe(route.status);
    },
  );
}

test.each(encodings)('A7 "%s" is refused before any byte of the body is sent', async (encoding) => {
  const target = await product();
  const head = withHeader(withBody(goodCall('2026-07-28', target.port), ''), 'Content-Length', '1000');
  const answers = await talk(target.port, toBytes(withHeader(head, 'Content-Encoding', encoding)));
  expect(answers.map(({ status }) => status)).toEqual([415]);
});

test.each(encodings)('A7 server.fetch refuses "%s" and does not read the body', async (encoding, encode) => {
  const source = recordingSource(danger);
  const server = createServer({ source, authenticate: () => localCaller });
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-encoding': encoding },
    body: encode(callBody('2025-06-18')),
  });
  const decoders = countDecoders();
  const response = await server.fetch(request);
  expect([response.status, request.bodyUsed, source.calls.length, decoders()]).toEqual([415, false, 0, 0]);
});

test('A7 responses are not compressed, whatever Accept-Encoding says', async () => {
  const target = await product();
  const decoders = countDecoders();
  const { answer } = await deliver(
    target,
    withHeader(goodCall('2026-07-28', target.port), 'Accept-Encoding', 'br, gzip'),
  );
  expect([answer.status, answer.headers.get('content-encoding'), decoders()]).toEqual([200, undefined, 0]);
});

test('A7 no code of the server can decompress anything', () => {
  const root = join(import.meta.dirname, '../../src');
  const decoding = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .filter((name) => {
      // The pool of connections hands on bytes as they come; what decodes them is in other parts of that package.
      const text = readFileSync(join(root, name), 'utf8').replaceAll('undici/lib/dispatcher/pool.js', '');
      return /\bzlib\b|DecompressionStream|from 'undici|import\('undici/.test(
        text.replaceAll(/^ *import type .*$/gm, ''),
      );
    });
  expect(decoding).toEqual([]);
});

test('A7 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

// Sees every native compression handle, whichever module makes it.
function countDecoders(): () => number {
  let count = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === 'ZLIB') count++;
    },
  }).enable();
  onTestFinished(() => {
    hook.disable();
  });
  return () => count;
}

function decode(body: Buffer, encoding = ''): unknown {
  let bytes = body;
  for (const name of encoding.toLowerCase().split(', ').toReversed()) {
    if (name === 'br') bytes = brotliDecompressSync(bytes);
    if (name === 'gzip' || name === 'x-gzip') bytes = gunzipSync(bytes);
    if (name === 'deflate') bytes = inflateSync(bytes);
  }
  return JSON.parse(bytes.toString());
}
