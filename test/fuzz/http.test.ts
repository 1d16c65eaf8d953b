import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../property-runs.ts';
import { deliver, goodCall, versions, withBody, type Version } from '../security/attack.ts';
import { leakedAnswers, talk, toBytes } from '../security/raw-http.ts';
import { careless, product, type Target } from '../security/target.ts';
import { headPieces, jsonPieces, mutate, mutations, problemsOf, type Mutation } from './mutations.ts';

// The handshake revisions share all of this.
const runsOf = (version: Version): number =>
  propertyRuns(['2026-07-28', '2025-06-18'].includes(version) ? 1_000 : 300);

for (const version of versions) {
  test(`A4 ${runsOf(version)} broken bodies of ${version} each get one well-formed response, and a good call works afterwards`, async () => {
    const target = await product();
    await fc.assert(bodyProperty(target, version), { numRuns: runsOf(version) });
    expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
  });

  test(`A13 ${runsOf(version)} broken headers of ${version} get a response or a closed connection, and a good call works afterwards`, async () => {
    const target = await product();
    await fc.assert(headProperty(target, version), { numRuns: runsOf(version) });
    expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
  });
}

test('A4 control: a server that reveals its internal errors is detected', async () => {
  const target = await careless(readOrExplain, () => explanation);
  const { failed } = await fc.check(bodyProperty(target, '2026-07-28'), {
    numRuns: 1_000,
    endOnFailure: true,
  });
  expect(failed).toBe(true);
  // Of that server, not of ours.
  leakedAnswers.length = 0;
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
