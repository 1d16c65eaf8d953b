import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../property-runs.ts';
import { ask, keyed } from './keyed.ts';

const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` });

test("the endpoint is at the path of the caller's tenant and at the usual path", async () => {
  const target = await keyed();
  const headers = bearer(target.identities.addKey());
  for (const path of ['/mcp', '/t/north/mcp', '/t/n%6Frth/mcp', '/t/north/mcp?x=1'])
    expect([path, (await ask(target, { path, headers })).status]).toEqual([path, 200]);
});

test('B9 the path of another tenant gets the response for an unknown tenant', async () => {
  const target = await keyed();
  const headers = bearer(target.identities.addKey());
  const paths = [
    '/t/south/mcp',
    '/t/nowhere/mcp',
    '/t/North/mcp',
    '/t/NORTH/mcp',
    '/t/north%20/mcp',
    '/t/%00/mcp',
  ];
  const answers = [];
  for (const path of paths) {
    const { status, body } = await ask(target, { path, headers });
    answers.push({ status, body });
  }
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]!.status).toBe(404);
  expect(answers[0]!.body).not.toMatch(/north|south/);
  expect(target.runs()).toBe(0);
});

test('B9 control: the same credential is accepted at the path of its own tenant', async () => {
  const target = await keyed();
  const headers = bearer(target.identities.addKey({ tenant: 'south' }));
  expect((await ask(target, { path: '/t/south/mcp', headers })).status).toBe(200);
  expect(target.source.calls[0]?.caller.tenant.id).toBe('south');
});

test('B9 an unauthenticated caller cannot find out which tenants exist', async () => {
  const target = await keyed();
  for (const tenant of ['north', 'south', 'nowhere']) {
    const { status, body } = await ask(target, { path: `/t/${tenant}/mcp` });
    expect([status, body.includes(tenant)]).toEqual([401, false]);
  }
});

test("B9 a path that only looks like a tenant's is not found", async () => {
  const target = await keyed();
  const headers = bearer(target.identities.addKey());
  const paths = [
    '/t//mcp',
    '/t/mcp',
    '/t/north/x/mcp',
    '/t/north',
    '/t/north/mcpx',
    '/T/north/mcp',
    '/t/%/mcp',
    '/x/t/north/mcp',
  ];
  for (const path of paths)
    expect([path, (await ask(target, { path, headers })).status]).toEqual([path, 404]);
});

test('B9 a caller is accepted by its own tenant only, whatever the path says', async () => {
  const target = await keyed();
  const { authenticate } = target.signIn;
  const key = target.identities.addKey();
  expect(await authenticate({ target: '/mcp', headers: bearer(key) })).toMatchObject({
    tenant: { id: 'north' },
  });
  const segment = fc.string().filter((text) => text !== 'north');
  await fc.assert(
    fc.asyncProperty(segment, async (text) => {
      let path = '/';
      try {
        path = `/t/${encodeURIComponent(text)}/mcp`;
      } catch {
        return;
      }
      expect((await ask(target, { path, headers: bearer(key) })).status).toBe(404);
    }),
    { numRuns: propertyRuns() },
  );
  expect(target.runs()).toBe(0);
});

test('the path of a tenant follows the configured path of the endpoint', async () => {
  const target = await keyed({ path: '/tools' });
  const headers = bearer(target.identities.addKey());
  expect((await ask(target, { path: '/t/north/tools', headers })).status).toBe(200);
  expect((await ask(target, { path: '/t/north/mcp', headers })).status).toBe(404);
});

test('in open mode there is one tenant, named local', async () => {
  const target = await keyed({ authenticate: undefined as never });
  expect((await ask(target, { path: '/t/local/mcp' })).status).toBe(200);
  expect((await ask(target, { path: '/t/north/mcp' })).status).toBe(404);
});
