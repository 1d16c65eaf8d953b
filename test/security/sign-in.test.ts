import { expect, test } from 'vitest';
import { localCaller, type Caller } from '../../src/core/caller.ts';
import { createServer } from '../../src/server/create-server.ts';
import type { ServerOptions } from '../../src/server/options.ts';
import { recordingSource } from '../../src/testing.ts';
import { callBody, deliver, goodCall, versions } from './attack.ts';
import { leakedAnswers } from './raw-http.ts';
import { danger, product } from './target.ts';

type Authenticate = NonNullable<ServerOptions['authenticate']>;

// Results of a check that does not know a caller, or is wrong; as a program without types could return them.
const nobody: readonly [name: string, outcome: () => unknown][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['false', () => false],
  ['true', () => true],
  ['nothing but text', () => 'ada'],
  ['an empty object', () => ({})],
  ['an object without an id', () => ({ ...localCaller, id: undefined })],
  ['a caller without a tenant', () => ({ ...localCaller, tenant: undefined })],
  ['an object whose id is a number', () => ({ ...localCaller, id: 7 })],
  ['a promise of undefined', () => Promise.resolve(undefined)],
  ['a promise of an empty object', () => Promise.resolve({})],
  [
    'a promise of another making',
    () => ({ then: (resolve: (value: undefined) => void) => resolve(undefined) }),
  ],
  ['an exception', () => raise()],
  ['a promise that fails', () => Promise.reject(new Error('The directory is down.'))],
];

for (const version of versions) {
  test.each(nobody)(
    `B3 when authenticate returns %s, the request is refused in ${version}`,
    async (_name, outcome) => {
      const target = await product({ authenticate: outcome as Authenticate });
      const { answer, ran } = await deliver(target, goodCall(version, target.port));
      expect([answer.status, answer.headers.get('www-authenticate'), ran]).toEqual([401, 'Bearer', 0]);
    },
  );

  test.each<[name: string, outcome: Authenticate]>([
    ['a caller', () => ada],
    ['a promise of a caller', () => Promise.resolve(ada)],
  ])(
    `B3 control: when authenticate returns %s, the request is accepted in ${version}`,
    async (_name, authenticate) => {
      const target = await product({ authenticate });
      expect((await deliver(target, goodCall(version, target.port))).ran).toBe(1);
      expect(target.source.calls[0]?.caller).toBe(ada);
    },
  );
}

test.each(nobody)(
  'B3 server.fetch refuses the request when authenticate returns %s',
  async (_name, outcome) => {
    const source = recordingSource(danger);
    const server = createServer({ source, authenticate: outcome as Authenticate, log: () => {} });
    const response = await server.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: callBody('2025-06-18'),
      }),
    );
    expect([response.status, source.calls.length]).toEqual([401, 0]);
  },
);

test('B3 server.fetch without authenticate refuses every request', async () => {
  const server = createServer({ source: recordingSource(danger), log: () => {} });
  await expect(async () =>
    server.fetch(new Request('http://localhost/mcp', { method: 'POST' })),
  ).rejects.toThrow('authenticate');
});

test.each(['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'])(
  'B3 without authenticate a request with %s does not count as local and is refused',
  async (header) => {
    const target = await product();
    const { answer, ran } = await deliver(
      target,
      goodCall('2026-07-28', target.port, { headers: [[header, '127.0.0.1']] }),
    );
    expect([answer.status, ran]).toEqual([403, 0]);
  },
);

test('B3 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

const ada: Caller = { ...localCaller, id: 'ada' };

function raise(): never {
  throw new Error('The directory is down.');
}
