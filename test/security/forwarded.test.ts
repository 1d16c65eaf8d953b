import { describe, expect, test } from 'vitest';
import { deliver, goodCall, knock, versions, withHeader } from './attack.ts';
import { ada, signsIn, tokenOf } from './people.ts';
import { leakedAnswers } from './raw-http.ts';
import { routes } from './routes.ts';
import { product } from './target.ts';

const forwarding: readonly [header: string, value: string][] = [
  ['Forwarded', 'for=127.0.0.1;host=localhost;proto=https'],
  ['Via', '1.1 proxy'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['X-Forwarded-Host', 'localhost'],
  ['X-Forwarded-Proto', 'https'],
  ['X-Real-IP', '127.0.0.1'],
];
// What would name a caller if anybody believed it.
const claims: readonly [header: string, value: string][] = [
  ...forwarding,
  ['X-Forwarded-User', 'bob'],
  ['X-Forwarded-Email', 'bob@north.example'],
  ['X-Remote-User', 'bob'],
  ['X-User', 'bob'],
  ['X-Tenant-Id', 'south'],
  ['Client-IP', '10.0.0.1'],
  ['Cookie', 'session=bob'],
  ['Proxy-Authorization', tokenOf(ada)],
];

describe('open mode', () => {
  for (const version of versions) {
    test.each(forwarding)(
      `A16 a call of ${version} that came through a proxy (%s) does not count as local and is refused`,
      async (header, value) => {
        const target = await product();
        const { answer, ran } = await deliver(
          target,
          goodCall(version, target.port, { headers: [[header, value]] }),
        );
        expect([answer.status, ran]).toEqual([403, 0]);
      },
    );
  }

  for (const route of routes) {
    test.each(forwarding)(
      `A16 %s is refused for ${route.name}, and the good request is served afterwards`,
      async (header, value) => {
        const target = await product({ sse: true });
        const good = await route.good(target);
        expect(await knock(target, withHeader(good, header, value))).toEqual({ status: 403, ran: 0 });
        expect((await knock(target, good)).status).toBe(route.status);
      },
    );
  }
});

describe('with a sign-in check', () => {
  for (const version of versions) {
    test.each(claims)(`A16 %s does not change the caller in ${version}`, async (header, value) => {
      const target = await product(signsIn);
      const good = withHeader(goodCall(version, target.port), 'Authorization', tokenOf(ada));
      const { ran } = await deliver(target, withHeader(good, header, value));
      expect(ran).toBe(1);
      expect(target.source.calls[0]?.caller).toBe(ada);
    });

    test.each(claims)(`A16 %s does not authenticate a request in ${version}`, async (header, value) => {
      const target = await product(signsIn);
      const { answer, ran } = await deliver(
        target,
        withHeader(goodCall(version, target.port), header, value),
      );
      expect([answer.status, ran]).toEqual([401, 0]);
    });
  }

  for (const route of routes) {
    test.each(claims)(`A16 %s does not change access to ${route.name}`, async (header, value) => {
      const target = await product({ ...signsIn, sse: true });
      const good = await route.good(target);
      const stranger = withHeader(withHeader(good, 'Authorization', 'Bearer nobody'), header, value);
      expect(await knock(target, stranger)).toEqual({ status: 401, ran: 0 });
      expect((await knock(target, withHeader(good, header, value))).status).toBe(route.status);
    });
  }

  test('A16 control: a check that trusts such a header is deceived by it', async () => {
    const target = await product({
      authenticate: ({ headers }) => ({ ...ada, id: String(headers['x-forwarded-user']) }),
    });
    const good = withHeader(goodCall('2026-07-28', target.port), 'X-Forwarded-User', 'bob');
    await deliver(target, good);
    expect(target.source.calls[0]?.caller.id).toBe('bob');
  });
});

test('A16 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
