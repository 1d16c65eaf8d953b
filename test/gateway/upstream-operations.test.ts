import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { upstreams } from '../../src/cli/servers/upstreams.ts';
import { defineTool } from '../../src/index.ts';
import { makeUp, serve } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';
import { workbench } from './upstream-programs.ts';

const plain = (name: string) => defineTool({ name, description: `Is ${name}.` }, () => name);
const GONE = 'http://127.0.0.1:1/mcp';

async function run(flags: Parameters<typeof upstreams>[0]): Promise<{ text: string; code: unknown }> {
  let text = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  try {
    await upstreams(flags);
    return { text, code: process.exitCode };
  } finally {
    spy.mockRestore();
    process.exitCode = undefined;
  }
}

interface Shown {
  readonly reports: { readonly pid: number; readonly upstreams: Record<string, unknown>[] }[];
}

async function asJson(config: string, more: { connect?: boolean } = {}): Promise<Shown> {
  return JSON.parse((await run({ config, json: true, ...more })).text) as Shown;
}

test("toolcrib upstreams shows the state of a running gateway's servers, and none after it has stopped", async () => {
  const url = await serve([plain('one'), plain('two')]);
  const crib = await openCrib({
    config: {
      mcpServers: {
        desk: workbench({ tools: ['structured'] }),
        gone: { url: GONE },
        lost: { command: '/there/is/no/such' },
        off: { url, disabled: true },
        web: { url },
      },
    },
  });
  const config = crib.path('toolcrib.yaml');
  const ada = await crib.connect('ada');
  await ada.list();
  const { reports } = await vi.waitFor(
    async () => {
      const shown = await asJson(config);
      for (const down of ['gone', 'lost'])
        expect(shown.reports[0]?.upstreams.find(({ name }) => name === down)).toMatchObject({
          state: 'failed',
        });
      expect(shown.reports[0]?.upstreams.find(({ name }) => name === 'desk')?.['listedAt']).toBeDefined();
      return shown;
    },
    { timeout: 10_000, interval: 20 },
  );
  expect(reports[0]!.pid).toBe(process.pid);
  const [desk, gone, lost, off, web] = reports[0]!.upstreams;
  expect(desk).toMatchObject({ state: 'connected', transport: 'stdio', processes: 1, connections: 1 });
  expect(gone).toMatchObject({ state: 'failed', degraded: false, tools: 0 });
  expect(gone!['remedy']).toBe('See whether it is running, and its entry in mcpServers.');
  expect(lost).toMatchObject({
    reason: '/there/is/no/such could not be found.',
    remedy: 'Install it, or correct mcpServers.lost: its command, sandbox or cwd.',
  });
  expect(off).toMatchObject({ name: 'off', state: 'disabled' });
  expect(web).toMatchObject({
    state: 'connected',
    transport: 'http',
    revision: '2026-07-28',
    tools: 2,
    processes: 0,
  });
  const { text } = await run({ config });
  expect(text).toMatch(
    /^As process \d+ saw them when something last changed, \d+ s ago\.\nSERVER +STATE +TRANSPORT/,
  );
  expect(text).toMatch(/\nweb +connected +http +2026-07-28 +1 +- +2 +0 +0 +\d+ s ago\n/);
  expect(text).toMatch(/\ngone: .* See whether it is running, and its entry in mcpServers\.\nlost: /);
  const name = readdirSync(crib.folder).find((file) => file.includes('.upstreams-'));
  expect(statSync(crib.path(name!)).mode & 0o777).toBe(0o600);
  // The report of a process that has ended is ignored.
  const left = crib.path('toolcrib.db.upstreams-4194304');
  writeFileSync(left, JSON.stringify({ ...reports[0], pid: 4_194_304 }));
  expect((await asJson(config)).reports).toHaveLength(1);
  await crib.gateway.close();
  expect(existsSync(crib.path(name!))).toBe(false);
  expect((await run({ config })).text).toMatch(/^No gateway that runs here has other servers\./);
});

test('toolcrib upstreams --connect tries each server, and fails if one cannot be used', async () => {
  const url = await serve([plain('one')]);
  const locked = await makeUp(({ response }) => {
    response.writeHead(401).end();
    return true;
  });
  const crib = await openCrib({ config: { mcpServers: { web: { url } } } });
  const config = crib.path('toolcrib.yaml');
  const good = await run({ config, connect: true });
  expect(good.text).toMatch(/^Asked now, with every account\.\n/);
  expect(good.code).toBeUndefined();
  const secret = 'a-secret-of-the-operator';
  crib.configure({
    mcpServers: { web: { url }, locked: { url: locked.url, credential: { bearer: secret } } },
  });
  const bad = await run({ config, connect: true, json: true });
  expect(bad.code).toBe(1);
  expect(bad.text).not.toContain(secret);
  const [first, second] = (JSON.parse(bad.text) as Shown).reports[0]!.upstreams;
  expect(first).toMatchObject({ name: 'locked', state: 'needs_sign_in' });
  expect(first!['remedy']).toMatch(/^Give it a credential.*: mcpServers\.locked\.credential\.$/);
  expect(second).toMatchObject({ name: 'web', state: 'connected', tools: 1 });
});

test('a credential that a failing server repeats is removed from the reason, even where the reason is cut', async () => {
  const secret = 'a-secret-of-the-operator';
  const failing = (pad: number) => makeUp(({ refuse }) => refuse(-32000, `${'x'.repeat(pad)} ${secret}`));
  const pads = [430, 450, 470, 490];
  const servers = await Promise.all(pads.map(failing));
  const entries = servers.map(({ url }, at) => [`s${at}`, { url, credential: { bearer: secret } }]);
  const crib = await openCrib({ config: { mcpServers: Object.fromEntries(entries) } });
  const { text } = await run({ config: crib.path('toolcrib.yaml'), connect: true });
  expect(text.match(/x{400}/g)).toHaveLength(pads.length);
  expect(text).not.toContain(secret.slice(0, 8));
});

test('metrics name each server as in the configuration', async () => {
  const url = await serve([plain('one')]);
  const crib = await openCrib({ config: { mcpServers: { gone: { url: GONE }, web: { url } } } });
  const ada = await crib.connect('ada');
  await ada.list();
  await ada.call('one');
  await ada.call('one');
  const answer = await fetch(`http://127.0.0.1:${crib.port}/metrics`, {
    headers: { authorization: `Bearer ${crib.keys.watcher}` },
  });
  const lines = (await answer.text()).split('\n').filter((line) => line.startsWith('toolcrib_upstream_'));
  expect(lines).toEqual(
    expect.arrayContaining([
      'toolcrib_upstream_calls_total{upstream="web"} 2',
      'toolcrib_upstream_failures_total{upstream="web"} 0',
      'toolcrib_upstream_seconds_count{upstream="web"} 2',
      'toolcrib_upstream_connected{upstream="web"} 1',
      'toolcrib_upstream_processes{upstream="web"} 0',
      'toolcrib_upstream_degraded{upstream="web"} 0',
      'toolcrib_upstream_degraded{upstream="gone"} 1',
    ]),
  );
});
