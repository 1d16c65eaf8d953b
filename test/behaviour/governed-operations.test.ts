import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createGateway } from '../../src/gateway.ts';
import { defaultConfig } from '../../src/gateway/settings/default-config.ts';
import { defineTool } from '../../src/index.ts';
import { everythingForStaff, openCrib, readRows } from '../gateway.ts';
import { prepare, serve } from '../served.ts';
import { cli, startNode } from './child.ts';
import { deferred } from './deferred.ts';
import { echo } from './governed-tools.ts';
import { talkInLines } from './lines.ts';
import { openPeer } from './peer.ts';

const look = async (origin: string, path: string, key?: string): Promise<[number, string]> => {
  const headers = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  const response = await fetch(new URL(path, origin), headers);
  return [response.status, await response.text()];
};

test('anybody can read whether the server is alive and ready, and nothing more', async () => {
  const crib = await openCrib({ offers: [echo().tool] });
  expect(await look(crib.url, '/healthz')).toEqual([200, 'ok\n']);
  expect(await look(crib.url, '/readyz')).toEqual([200, 'ready\n']);
});

test('only callers with the scope can read the metrics', async () => {
  const crib = await openCrib({ offers: [echo().tool] });
  const peer = await crib.connect('ada');
  await peer.call('echo', { text: 'x' });
  await peer.call('echo', {});
  expect((await look(crib.url, '/metrics'))[0]).toBe(401);
  expect((await look(crib.url, '/metrics', crib.keys.ada))[0]).toBe(403);
  const [status, text] = await look(crib.url, '/metrics', crib.keys.watcher);
  expect(status).toBe(200);
  expect(text).toMatch(/^toolcrib_calls_total\{.*tool="echo".*\} 1$/m);
  expect(text).toMatch(/^toolcrib_refused_total\{code="unauthenticated"\} 1$/m);
  expect(text).toMatch(/^toolcrib_record_ready 1$/m);
  expect(text).not.toContain('ada');
  expect((await look(crib.url, '/metrics', crib.keys.ada))[0]).toBe(403);
  await expect
    .poll(() => crib.rows().filter(({ outcome }) => outcome === 'insufficient_scope'), { timeout: 5_000 })
    .toMatchObject([{ kind: 'refusal', caller: 'ada', count: 2 }]);
});

test('in open mode callers on this machine can read the metrics', async () => {
  const loaded = defaultConfig();
  const { config } = loaded;
  const listen = { host: '127.0.0.1', port: 0 };
  const gateway = await createGateway(
    { ...loaded, config: { ...config, server: { ...config.server, listen } } },
    { version: '1.2.3', log: () => {} },
  );
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  expect((await look(url, '/metrics'))[0]).toBe(200);
});

test('a server that is stopping reports "not ready", finishes running calls and then ends', async () => {
  const go = deferred<string>();
  const started = deferred();
  const slow = defineTool({ name: 'slow', description: 'Waits.' }, () => {
    started.resolve();
    return go.promise;
  });
  const crib = await openCrib({ offers: [slow], config: { server: { drainSeconds: 20 } } });
  const peer = await crib.connect('ada');
  const call = peer.call('slow');
  await started.promise;
  const closed = crib.gateway.close();
  expect(crib.gateway.isReady).toBe(false);
  go.resolve('finished');
  expect((await call).content[0]!.text).toBe('finished');
  await closed;
  expect(crib.rowsOf('slow').map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['intent', undefined],
    ['outcome', 'done'],
  ]);
});

test('a server that is stopping lets its tasks finish too, and records how they ended', async () => {
  const go = deferred<string>();
  const long = defineTool({ name: 'long', description: 'Takes long.' }, async (_args, { detach }) => {
    detach();
    return go.promise;
  });
  const crib = await openCrib({ offers: [long], config: { server: { drainSeconds: 10 } } });
  const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const peer = await crib.connect('ada', { capabilities: tasks });
  await peer.result('tools/call', { name: 'long', arguments: {} });
  const closed = crib.gateway.close();
  // By then everything that does not wait for the task has ended.
  await expect.poll(() => fetch(crib.url).catch(() => 'gone'), { timeout: 5_000 }).toBe('gone');
  go.resolve('finished');
  await closed;
  expect(crib.rowsOf('long').map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['intent', undefined],
    ['outcome', 'done'],
  ]);
});

test('a call that is cut off because the server stops is on record as cancelled', async () => {
  const started = deferred();
  const wait = defineTool(
    { name: 'wait', description: 'Waits.' },
    (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        started.resolve();
      }),
  );
  const crib = await openCrib({ offers: [wait], config: { server: { drainSeconds: 0 } } });
  const peer = await crib.connect('ada');
  const call = peer.call('wait').catch(() => 'cut off');
  await started.promise;
  await crib.gateway.close();
  expect(await call).toBe('cut off');
  expect(crib.rowsOf('wait').map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['intent', undefined],
    ['outcome', 'cancelled'],
  ]);
});

test('names made up by callers do not become metric labels', async () => {
  const crib = await openCrib({ offers: [echo().tool] });
  const peer = await crib.connect('ada');
  for (let n = 0; n < 20; n++) {
    await peer.error('tools/call', { name: `made_up_${n}`, arguments: {} });
    await peer.error(`made/up/${n}`);
  }
  const [, text] = await look(crib.url, '/metrics', crib.keys.watcher);
  expect(text).not.toMatch(/made.up/);
  expect(text).toContain('toolcrib_calls_total');
});

const files = {
  'tools/slow.ts': `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { defineTool } from 'toolcrib';
  export const slow = defineTool({ name: 'slow', description: 'Takes a while.' }, async () => {
    console.error('{"level":"info","message":"slow has started"}');
    await sleep(700);
    return 'finished';
  });
  export const look = defineTool(
    { name: 'look', description: 'Looks.', annotations: { readOnlyHint: true } },
    () => 'seen',
  );`,
};

test('SIGTERM lets a running call finish and be recorded, and the built server exits with 0', async () => {
  const { child, connect, folder } = await serve({ files });
  const peer = await connect('ada');
  const call = peer.call('slow');
  await expect.poll(() => child.complaints(), { timeout: 10_000 }).toContain('slow has started');
  child.process.kill('SIGTERM');
  expect((await call).content[0]!.text).toBe('finished');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(
    readRows(folder)
      .filter(({ tool }) => tool === 'slow')
      .map(({ kind, outcome }) => [kind, outcome]),
  ).toEqual([
    ['intent', undefined],
    ['outcome', 'done'],
  ]);
});

test('the built server follows a change of its file; a broken file is logged and changes nothing', async () => {
  const { child, connect, configure, folder } = await serve({ files });
  const names = async (): Promise<unknown[]> =>
    (await (await connect('ada')).list()).tools.map(({ name }) => name);
  expect(await names()).toEqual(['look', 'slow']);
  configure({ access: [{ roles: ['staff'], tools: ['look'] }] });
  await expect.poll(names, { timeout: 10_000 }).toEqual(['look']);
  writeFileSync(join(folder, 'toolcrib.yaml'), 'access: {');
  await expect
    .poll(() => child.complaints(), { timeout: 10_000 })
    .toContain('The new configuration cannot be used, so the old one stays in use.');
  expect(await names()).toEqual(['look']);
  configure({ access: [everythingForStaff] });
  await expect.poll(names, { timeout: 10_000 }).toEqual(['look', 'slow']);
});

test('every line of the log is JSON, whatever happens', async () => {
  const { child, connect, configure, url } = await serve({ files, config: { log: { level: 'debug' } } });
  const peer = await connect('ada');
  await peer.call('look');
  await peer.call('slow', { wrong: true });
  await peer.error('tools/call', { name: 'no_such_tool', arguments: {} });
  await fetch(url, { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } });
  configure({ log: { level: 'debug' }, stages: { timeout: { seconds: 5 } } });
  await expect.poll(() => child.complaints(), { timeout: 10_000 }).toContain('loaded again');
  child.process.kill('SIGTERM');
  await child.exit;
  const lines = child.complaints().split('\n').filter(Boolean);
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ message: expect.any(String) });
});

test('serve --stdio --config governs like HTTP: rules, limits and the record apply to the user who started it', async () => {
  const folder = prepare({
    files,
    config: {
      auth: undefined as never,
      access: [{ tools: ['look'] }],
      stages: { rateLimit: { perMinute: 2 } },
    },
  });
  const child = startNode([cli, 'serve', '--stdio', '--config', join(folder, 'toolcrib.yaml')]);
  const talk = talkInLines(child.process.stdin, child.process.stdout);
  const legacy = { version: '2025-11-25', era: 'legacy' } as const;
  const peer = await openPeer({ ...talk, close: () => child.kill() }, legacy);
  expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['look']);
  await peer.error('tools/call', { name: 'slow', arguments: {} });
  expect((await peer.call('look')).content[0]!.text).toBe('seen');
  expect((await peer.call('look')).content[0]!.text).toMatch(/^Too many calls; /);
  child.process.stdin.end();
  expect(await child.exit).toEqual({ code: 0, signal: null });
  const rows = readRows(folder);
  expect(rows.slice(0, 2)).toMatchObject([
    { caller: 'local', tenant: 'local', tool: 'slow', outcome: 'unknown_tool' },
    { caller: 'local', tool: 'look', outcome: 'done', protocol: '2025-11-25' },
  ]);
});

test('in the built server a tool of a module counts as having effects until its author says that it has none', async () => {
  const made = `
    import { AbstractTool, defineTool } from 'toolcrib';
    class ClassTool extends AbstractTool {
      name = 'as_class';
      description = 'Is a class.';
      inputSchema = { type: 'object' as const, properties: {} };
      async execute() { return 'ran'; }
    }
    export const one = new ClassTool();
    export const two = defineTool({ name: 'as_function', description: 'Is a function.' }, () => 'ran');
    export const three = defineTool(
      { name: 'as_reader', description: 'Reads.', annotations: { readOnlyHint: true } },
      () => 'ran',
    );`;
  const { child, connect, folder } = await serve({ files: { 'tools/made.ts': made } });
  const peer = await connect('ada');
  for (const name of ['as_class', 'as_function', 'as_reader'])
    expect((await peer.call(name)).content[0]!.text).toBe('ran');
  expect(child.complaints()).not.toContain('"error"');
  expect(readRows(folder).map(({ kind, tool }) => [kind, tool])).toEqual([
    ['intent', 'as_class'],
    ['outcome', 'as_class'],
    ['intent', 'as_function'],
    ['outcome', 'as_function'],
    ['call', 'as_reader'],
  ]);
});
