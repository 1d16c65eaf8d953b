import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliver, goodCall, versions, withBody, type Version } from '../security/attack.ts';
import { leaksIn } from '../security/leaks.ts';
import { talk, toBytes, type JsonRpcAnswer, type RawAnswer } from '../security/raw-http.ts';
import { careless, product, type Target } from '../security/target.ts';

/** One change of some bytes; places are fractions, so that they fit bytes of any length. */
type Mutation =
  | { readonly kind: 'set'; readonly at: number; readonly byte: number }
  | { readonly kind: 'insert'; readonly at: number; readonly text: string }
  | { readonly kind: 'cut' | 'repeat'; readonly at: number; readonly length: number };

const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const jsonPieces = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  '\\',
  '\\u0000',
  '\\ud800',
  '__proto__',
  '"id":null,',
  '1e999',
  '\u{feff}',
  '\0',
  'é',
  '\n',
];
const headPieces = [
  ':',
  ' ',
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  '\t',
  'Host: x\r\n',
  'Content-Length: 1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Connection: keep-alive\r\n',
  'Upgrade: h2c\r\n',
  'é',
  'HTTP/2.0',
  '*',
  '/',
];

const mutations = (pieces: readonly string[]): fc.Arbitrary<Mutation[]> =>
  fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('set' as const), at: place, byte: fc.nat(255) }),
      fc.record({ kind: fc.constant('insert' as const), at: place, text: fc.constantFrom(...pieces) }),
      fc.record({ kind: fc.constantFrom('cut' as const, 'repeat' as const), at: place, length: fc.nat(40) }),
    ),
    { minLength: 1, maxLength: 4 },
  );

for (const version of versions) {
  test(`A4 a thousand broken bodies of ${version} each get one well-formed answer, and a good call works afterwards`, async () => {
    const target = await product();
    await fc.assert(bodyProperty(target, version), { numRuns: 1_000 });
    expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
  });

  test(`A13 a thousand broken heads of ${version} are answered or hung up on, and a good call works afterwards`, async () => {
    const target = await product();
    await fc.assert(headProperty(target, version), { numRuns: 1_000 });
    expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
  });
}

test('A4 a server that answers with what went wrong is found out, so the tests above can fail', async () => {
  const target = await careless(readOrExplain, () => explanation);
  const { failed } = await fc.check(bodyProperty(target, '2026-07-28'), {
    numRuns: 1_000,
    endOnFailure: true,
  });
  expect(failed).toBe(true);
});

function bodyProperty(target: Target, version: Version): fc.IAsyncPropertyWithHooks<[Mutation[]]> {
  const good = goodCall(version, target.port);
  return fc.asyncProperty(mutations(jsonPieces), async (changes) => {
    const body = changes.reduce(mutate, Buffer.from(good.body as string));
    const { answer, ran } = await deliver(target, withBody(good, body));
    expect(problemsOf(answer)).toEqual([]);
    if (ran > 0) expect(answer.status).toBe(200);
  });
}

function headProperty(target: Target, version: Version): fc.IAsyncPropertyWithHooks<[Mutation[]]> {
  const good = goodCall(version, target.port);
  const bytes = toBytes({
    ...good,
    headers: good.headers.map(([name, value]) => [name, value === 'auto' ? String(good.body.length) : value]),
  });
  const headLength = bytes.length - good.body.length;
  return fc.asyncProperty(mutations(headPieces), async (changes) => {
    const head = changes.reduce(mutate, Buffer.from(bytes.subarray(0, headLength)));
    const before = target.runs();
    const answers = await talk(target.port, Buffer.concat([head, bytes.subarray(headLength)]), { end: true });
    expect(target.runs() - before).toBeLessThanOrEqual(1);
    expect(answers.flatMap(problemsOf)).toEqual([]);
  });
}

function mutate(bytes: Buffer, mutation: Mutation): Buffer {
  const at = Math.floor(mutation.at * bytes.length);
  switch (mutation.kind) {
    case 'set': {
      const changed = Buffer.from(bytes);
      if (changed.length > 0) changed[at] = mutation.byte;
      return changed;
    }
    case 'insert':
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(mutation.text), bytes.subarray(at)]);
    case 'cut':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + mutation.length)]);
    case 'repeat':
      return Buffer.concat([bytes.subarray(0, at + mutation.length), bytes.subarray(at)]);
  }
}

// An answer is a JSON-RPC answer with the status of its kind, or says nothing at all.
function problemsOf({ status, headers, body, json: whole }: RawAnswer): string[] {
  const leaks = leaksIn(body);
  if (leaks.length > 0) return leaks;
  const isStream = headers.get('content-type') === 'text/event-stream';
  const json = isStream
    ? (JSON.parse(/^event: message\ndata: (.*)\n\n$/.exec(body)?.[1] ?? '{}') as JsonRpcAnswer)
    : whole;
  if (body === '')
    return [100, 202, 204, 400, 408, 417, 431].includes(status) ? [] : [`${status} and nothing else`];
  if (json?.jsonrpc !== '2.0') return [`not JSON-RPC: ${body}`];
  const isError = Number.isInteger(json.error?.code) && typeof json.error?.message === 'string';
  const isResult = typeof json.result === 'object' && status === 200;
  return isError !== isResult && (isError || isResult)
    ? []
    : [`neither an error nor a result: ${status} ${body}`];
}

let explanation = '';

function readOrExplain(body: Buffer): unknown {
  explanation = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
  try {
    return JSON.parse(body.toString());
  } catch (error) {
    explanation = (error as Error).stack ?? '';
    return undefined;
  }
}
