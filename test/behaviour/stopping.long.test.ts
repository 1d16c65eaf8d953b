import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { readAllRows, readRows } from '../gateway.ts';
import { firstFew } from '../property-runs.ts';
import { prepare, serve } from '../served.ts';
import { cli, startNode, type Child } from './child.ts';
import { talkInLines } from './lines.ts';
import { openPeer, type Peer } from './peer.ts';
import { legacyPost, sendTo } from './web.ts';

// Like a pool of connections, it keeps the process running until it is closed.
const holding = {
  'tools/held.ts': `
  import { defineTool } from 'toolcrib';
  setInterval(() => {}, 1_000);
  export const held = defineTool({ name: 'get_held', description: 'Gets what is held.' }, () => 'held');`,
};

const open = { auth: undefined as never, access: undefined as never };

test('SIGTERM ends the built server with exit code 0, whatever handles its tools keep open', async () => {
  const { child } = await serve({ files: holding });
  child.process.stdout.resume();
  child.process.kill('SIGTERM');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test.each(firstFew([['check'], ['lint', '--config'], ['codegen', '--config']], 1))(
  '%s ends with its exit code, whatever handles the loaded tools keep open',
  async (...command) => {
    const folder = prepare({ files: holding, config: open });
    const child = startNode([cli, ...command, join(folder, 'toolcrib.yaml')]);
    const output = text(child.process.stdout);
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(await output).not.toBe('');
  },
);

test('serve --stdio ends when its input ends, whatever handles its tools keep open', async () => {
  const folder = prepare({ files: holding, config: open });
  const { child, peer } = await talkTo(folder);
  expect((await peer.call('get_held')).content[0]!.text).toBe('held');
  child.process.stdin.end();
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('serve on a port in use exits with 1, whatever handles its tools keep open', async () => {
  const taken = createTcpServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const folder = prepare({ files: holding, config: open });
  const file = join(folder, 'toolcrib.yaml');
  const child = startNode([cli, 'serve', '--config', file, '--listen', String(port)]);
  child.process.stdout.resume();
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.complaints()).toContain('is in use');
});

test('the output of a command is not cut off, however late it is read', async () => {
  const many = `
  import { defineTool } from 'toolcrib';
  setInterval(() => {}, 1_000);
  setTimeout(() => console.error('long after'), 2_500);
  const description = 'Gets one of many things. '.repeat(40);
  export const tools = Array.from({ length: 2_000 }, (_, n) =>
    defineTool({ name: 'get_thing_' + n, description }, () => 'thing'));`;
  const folder = prepare({ files: { 'tools/many.ts': many }, config: open });
  const child = startNode([cli, 'codegen', '--config', join(folder, 'toolcrib.yaml')]);
  await said(child, 'long after');
  const types = await text(child.process.stdout);
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(types.length).toBeGreaterThan(1_000_000);
  expect(types).toContain('get_thing_1999');
  expect(types.endsWith('}\n')).toBe(true);
});

// Each says that it has started; those that listen end on abort, the others never.
const waiting = {
  'tools/waiting.ts': `
  import { defineTool } from 'toolcrib';
  const started = (name) => console.error(JSON.stringify({ message: name + ' has started' }));
  const listen = (name) => (_args, { signal }) => new Promise((_resolve, reject) => {
    const timer = setTimeout(reject, 60_000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      console.error(JSON.stringify({ message: name + ' has heard' }));
      reject(signal.reason);
    });
    started(name);
  });
  const ignore = (name) => () => new Promise((resolve) => {
    setTimeout(resolve, 60_000, 'too late');
    started(name);
  });
  const readOnly = { readOnlyHint: true };
  const description = 'Takes long.';
  export const tools = [
    defineTool({ name: 'read', description, annotations: readOnly }, listen('read')),
    defineTool({ name: 'write', description }, listen('write')),
    defineTool({ name: 'deaf_read', description, annotations: readOnly }, ignore('deaf_read')),
    defineTool({ name: 'deaf_write', description }, ignore('deaf_write')),
    defineTool(
      {
        name: 'deaf_check',
        description,
        annotations: readOnly,
        input: {
          '~standard': {
            version: 1,
            vendor: 'test',
            validate: ignore('deaf_check'),
            jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
          },
        },
      },
      () => 'checked',
    ),
  ];`,
};
const cancelled = {
  read: [['call', 'cancelled']],
  write: [['intent'], ['outcome', 'cancelled']],
  deaf_read: [['call', 'cancelled']],
  deaf_write: [['intent'], ['outcome', 'cancelled']],
  deaf_check: [['call', 'cancelled']],
};
const names = Object.keys(cancelled);

test('after the drain time every call is on record as cancelled, whether it listens to its signal or not, and without a session too', async () => {
  const { child, folder, url, keys } = await serve({
    files: waiting,
    config: { server: { listen: '127.0.0.1:0', drainSeconds: 1 } },
  });
  child.process.stdout.resume();
  const headers = { authorization: `Bearer ${keys.ada}` };
  const calls = names.map((name) =>
    sendTo(url)(legacyPost('tools/call', { name, arguments: {} }, headers)).then((answer) => answer.json()),
  );
  for (const name of names) await said(child, `${name} has started`);
  child.process.kill('SIGTERM');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(await Promise.all(calls)).toMatchObject(names.map(() => ({ error: { code: -32603 } })));
  expect(rowsByTool(folder)).toEqual(cancelled);
  expect(readAllRows(folder).at(-1)).toMatchObject({ kind: 'stop' });
  expect(child.complaints()).toContain('read has heard');
  expect(child.complaints()).toContain('write has heard');
  expect(child.complaints()).not.toContain('record_unavailable');
});

const finishing = {
  'tools/finishing.ts': `
  import { existsSync } from 'node:fs';
  import { setTimeout as sleep } from 'node:timers/promises';
  import { defineTool } from 'toolcrib';
  export const slow = defineTool({ name: 'slow', description: 'Ends when it may.' }, async () => {
    console.error('{"message":"slow has started"}');
    while (!existsSync(new URL('../may-end', import.meta.url))) await sleep(10);
    return 'finished';
  });`,
};

test.each(firstFew(['SIGTERM', 'SIGINT'] as const, 1))(
  'over standard input and output %s lets the running call finish, and the process exits with 0',
  async (signal) => {
    const { child, peer, folder } = await talkTo(prepare({ files: finishing, config: open }));
    const call = peer.call('slow');
    await said(child, 'slow has started');
    child.process.kill(signal);
    await said(child, 'Stopping.');
    writeFileSync(join(folder, 'may-end'), '');
    expect((await call).content[0]!.text).toBe('finished');
    // Its input is still open: it ends by itself.
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(rowsByTool(folder)).toEqual({ slow: [['intent'], ['outcome', 'done']] });
    expect(readAllRows(folder).at(-1)).toMatchObject({ kind: 'stop' });
  },
);

test('over standard input and output calls are cancelled after the drain time too', async () => {
  const config = { ...open, server: { drainSeconds: 1 } };
  const { child, peer, folder } = await talkTo(prepare({ files: waiting, config }));
  const calls = names.map((name) => peer.request('tools/call', { name, arguments: {} }));
  for (const name of names) await said(child, `${name} has started`);
  child.process.kill('SIGTERM');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(await Promise.all(calls)).toMatchObject(names.map(() => ({ error: { code: -32603 } })));
  expect(rowsByTool(folder)).toEqual(cancelled);
  expect(readAllRows(folder).at(-1)).toMatchObject({ kind: 'stop' });
});

const exitCodes = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

test.each(firstFew(exitCodes, 1))(
  'over standard input and output a second %s ends the process at once',
  async (signal, code) => {
    const { child, peer } = await talkTo(prepare({ files: waiting, config: open }));
    const call = peer.request('tools/call', { name: 'write', arguments: {} }).catch(() => {});
    await said(child, 'write has started');
    child.process.kill(signal);
    await said(child, 'Stopping.');
    child.process.kill(signal);
    expect(await child.exit).toEqual({ code, signal: null });
    await call;
  },
);

test('a call is not cut off when nobody reads the output of the built server', async () => {
  const { child, connect, folder, url } = await serve({ files: finishing });
  child.process.stdout.destroy();
  const call = (await connect('ada')).call('slow').catch(() => undefined);
  await said(child, 'slow has started');
  child.process.kill('SIGTERM');
  await expect.poll(() => fetch(url).catch(() => 'refused'), { timeout: 10_000 }).toBe('refused');
  writeFileSync(join(folder, 'may-end'), '');
  expect((await call)?.content[0]!.text).toBe('finished');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

async function talkTo(folder: string): Promise<{ child: Child; peer: Peer; folder: string }> {
  const child = startNode([cli, 'serve', '--stdio', '--config', join(folder, 'toolcrib.yaml')]);
  const talk = talkInLines(child.process.stdin, child.process.stdout);
  const legacy = { version: '2025-11-25', era: 'legacy' } as const;
  return { child, folder, peer: await openPeer({ ...talk, close: () => child.kill() }, legacy) };
}

async function said(child: Child, message: string): Promise<void> {
  await expect.poll(() => child.complaints(), { timeout: 15_000 }).toContain(message);
}

function rowsByTool(folder: string): Record<string, unknown[][]> {
  const rows: Record<string, unknown[][]> = {};
  for (const { tool, kind, outcome } of readRows(folder))
    (rows[String(tool)] ??= []).push(outcome === undefined ? [kind] : [kind, outcome]);
  return rows;
}
