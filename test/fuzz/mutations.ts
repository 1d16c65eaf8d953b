import * as fc from 'fast-check';
import { leaksIn } from '../security/leaks.ts';
import type { JsonRpcAnswer, RawAnswer } from '../security/raw-http.ts';

/** One change of some bytes; places are fractions, so that they fit bytes of any length. */
export type Mutation =
  | { readonly kind: 'set'; readonly at: number; readonly byte: number }
  | { readonly kind: 'insert' | 'end'; readonly at: number; readonly text: string }
  | { readonly kind: 'cut' | 'repeat'; readonly at: number; readonly length: number };

const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
/** Pieces of JSON that upset readers. */
export const jsonPieces = [
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
/** Pieces of heads that upset readers. */
export const headPieces = [
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

/** A few changes in a row. */
export const mutations = (pieces: readonly string[]): fc.Arbitrary<Mutation[]> =>
  fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('set' as const), at: place, byte: fc.nat(255) }),
      fc.record({
        kind: fc.constantFrom('insert' as const, 'end' as const),
        at: place,
        text: fc.constantFrom(...pieces),
      }),
      fc.record({ kind: fc.constantFrom('cut' as const, 'repeat' as const), at: place, length: fc.nat(40) }),
    ),
    { minLength: 1, maxLength: 4 },
  );

/** Some bytes with one change made. */
export function mutate(bytes: Buffer, mutation: Mutation): Buffer {
  const at = Math.floor(mutation.at * bytes.length);
  switch (mutation.kind) {
    case 'set': {
      const changed = Buffer.from(bytes);
      if (changed.length > 0) changed[at] = mutation.byte;
      return changed;
    }
    case 'insert':
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(mutation.text), bytes.subarray(at)]);
    case 'end':
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(mutation.text)]);
    case 'cut':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + mutation.length)]);
    case 'repeat':
      return Buffer.concat([bytes.subarray(0, at + mutation.length), bytes.subarray(at)]);
  }
}

/** What is wrong with an answer: it is a JSON-RPC answer with the status of its kind, or says nothing at all. */
export function problemsOf({ status, headers, body, json: whole }: RawAnswer): string[] {
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
