import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli, startNode, type Child } from '../behaviour/child.ts';
import { talkInLines } from '../behaviour/lines.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { openPeer } from '../behaviour/peer.ts';
import { everythingForStaff, readRows } from '../gateway.ts';
import { firstFew } from '../property-runs.ts';
import { prepare, serve, type Served } from '../served.ts';

// Every way to fail where it cannot be caught, each with a secret between forged lines of the log.
const ways = `
  const text = 'first\\r\\n{"level":"info","message":"forged"}\\n' + process.env.CANARY + '\\nlast';
  const error = () => new Error(text, { cause: { headers: { authorization: text } } });
  export const throws = () => void setTimeout(() => { throw error(); });
  export const rejects = () => void Promise.reject(error());
  export const throwsOften = () => void setInterval(() => { throw error(); }, 1);
  export const throwsText = () => void setTimeout(() => { throw text; });
  export const throwsHostile = () => void setTimeout(() => {
    throw { text, [Symbol.for('nodejs.util.inspect.custom')]() { throw error(); } };
  });
  export const rejectsNothing = () => void Promise.reject();
  export const catchesTooLate = () => {
    const failed = Promise.reject(error());
    setTimeout(() => failed.catch(() => {}), 20);
  };
  export const both = () => { throws(); rejects(); };`;
const names = Array.from(ways.matchAll(/export const (\w+)/g), ([, name]) => name!);

const files = {
  'ways.mjs': ways,
  'tools/late.ts': `
  import { existsSync } from 'node:fs';
  import { setTimeout as sleep } from 'node:timers/promises';
  import { defineTool } from 'toolcrib';
  import * as ways from '../ways.mjs';
  export const late = Object.entries(ways).map(([name, fail]) =>
    defineTool({ name, description: 'Fails late.' }, () => { fail(); return 'answered'; }));
  export const slow = defineTool({ name: 'slow', description: 'Ends when it may.' }, async () => {
    console.error('{"message":"slow has started"}');
    while (!existsSync(new URL('../may-end', import.meta.url))) await sleep(10);
    return 'finished';
  });`,
};
const failed = 'Something failed outside of any call';
const canary = (): string => `canary-${randomBytes(18).toString('hex')}`;
// The configuration holds the secret by its name.
const withCanary = { access: [everythingForStaff, { roles: ['${CANARY}'], tools: ['*'] }] };

// The first show what the others vary; each is a server of its own.
test.each(firstFew(names, 2))(
  'E2 E4 a tool that throws late (%s) ends the server in order: no secret or raw text is shown, and no other call is lost',
  async (way) => {
    const secret = canary();
    const served = await serve({ files, config: withCanary, env: { CANARY: secret } });
    const { child, folder } = served;
    const output = outputOf(child);
    const call = (await served.connect('ada')).call('slow');
    await said(child, 'slow has started');
    const culprit = await served.connect('cyn');
    expect((await culprit.call(way)).content[0]!.text).toBe('answered');
    await said(child, failed);
    await expect.poll(() => fetch(new URL('/healthz', served.url)).catch(() => 'refused')).toBe('refused');
    writeFileSync(join(folder, 'may-end'), '');

    expect((await call).content[0]!.text).toBe('finished');
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(rowsOf(folder, 'slow')).toEqual([
      ['intent', undefined],
      ['outcome', 'done'],
    ]);
    expect(rowsOf(folder, way).at(-1)).toEqual(['outcome', 'done']);
    const told = entriesOf(child).filter(({ message }) => String(message).startsWith(failed));
    expect(told.every(({ level }) => level === 'error')).toBe(true);
    expect(told).toHaveLength({ throwsOften: 10, both: 2 }[way] ?? 1);
    expect(told[0]).toMatchObject(
      { throwsHostile: { facts: '[cannot be shown]' }, rejectsNothing: { cause: 'undefined' } }[way] ?? {
        cause: expect.stringMatching(/first[^]+\[redacted:secret\]\nlast/),
      },
    );
    expect(placesWith(secret, { output: served.greeting + output(), ...leftBy(child, folder) })).toEqual([]);
    expect(await verify(served, secret)).toBe(0);
  },
);

test.each(firstFew(['throws', 'rejects'], 1))(
  'E2 E4 over standard input and output a tool that throws late (%s) does no more harm than over HTTP',
  async (way) => {
    const secret = canary();
    const access = [{ tools: ['*'] }, { roles: ['${CANARY}'], tools: ['*'] }];
    const folder = prepare({ files, config: { auth: undefined as never, access } });
    const file = join(folder, 'toolcrib.yaml');
    const child = startNode([cli, 'serve', '--stdio', '--config', file], { CANARY: secret });
    const talk = talkInLines(child.process.stdin, child.process.stdout);
    const legacy = { version: '2025-11-25', era: 'legacy' } as const;
    const peer = await openPeer({ ...talk, close: () => child.kill() }, legacy);
    const call = peer.call('slow');
    await said(child, 'slow has started');
    expect((await peer.call(way)).content[0]!.text).toBe('answered');
    await said(child, failed);
    writeFileSync(join(folder, 'may-end'), '');

    expect((await call).content[0]!.text).toBe('finished');
    // Its input is still open: it ends by itself.
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(rowsOf(folder, 'slow').at(-1)).toEqual(['outcome', 'done']);
    expect(entriesOf(child).filter(({ level }) => level === 'error')).toHaveLength(1);
    for (const line of talk.heard) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    expect(placesWith(secret, { output: talk.heard.join('\n'), ...leftBy(child, folder) })).toEqual([]);
  },
);

test('E2 E4 a module that throws late while the server starts is reported in one line without its details', async () => {
  const secret = canary();
  const late = `
    import { throws } from '../ways.mjs';
    throws();
    await new Promise((resolve) => setTimeout(resolve, 60_000));`;
  const folder = prepare({ files: { 'ways.mjs': ways, 'tools/late.ts': late }, config: withCanary });
  const child = startNode([cli, 'serve', '--config', join(folder, 'toolcrib.yaml')], { CANARY: secret });
  const output = outputOf(child);
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.complaints()).toMatch(/^toolcrib: While the server started, [^\n]+\n$/);
  expect(output()).toBe('');
});

test('a server that stops after a late failure continues to stop at the first signal, and ends at the second', async () => {
  const served = await serve({ files, env: { CANARY: canary() } });
  const { child, folder } = served;
  const output = outputOf(child);
  const call = (await served.connect('ada')).call('slow').catch(() => 'cut off');
  await said(child, 'slow has started');
  await (await served.connect('cyn')).call('throws');
  await said(child, failed);
  child.process.kill('SIGTERM');
  await expect.poll(output).toContain('Stopping.');
  child.process.kill('SIGTERM');
  expect(await child.exit).toEqual({ code: 143, signal: null });
  expect(await call).toBe('cut off');
  expect(rowsOf(folder, 'slow')).toEqual([['intent', undefined]]);
});

test.each(['throws', 'throwsText', 'throwsOften', 'rejects', 'catchesTooLate'])(
  'E2 E4 control: the same failure (%s) in a plain process shows the secret',
  async (way) => {
    const secret = canary();
    const folder = prepare({
      files: { 'ways.mjs': ways, 'main.mjs': `(await import('./ways.mjs')).${way}()` },
    });
    const child = startNode([join(folder, 'main.mjs')], { CANARY: secret });
    expect((await child.exit).code).toBe(1);
    expect(placesWith(secret, leftBy(child, folder))).toEqual(['stderr']);
    expect(() => entriesOf(child)).toThrow(SyntaxError);
  },
);

async function said(child: Child, text: string): Promise<void> {
  await expect.poll(() => child.complaints(), { timeout: 10_000 }).toContain(text);
}

function outputOf({ process }: Child): () => string {
  let output = '';
  process.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return () => output;
}

function entriesOf(child: Child): Record<string, unknown>[] {
  const lines = child.complaints().split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

function rowsOf(folder: string, name: string): unknown[][] {
  const rows = readRows(folder).filter(({ tool }) => tool === name);
  return rows.map(({ kind, outcome }) => [kind, outcome]);
}

// The log, and every file: the database, what belongs to it, and the checkpoints.
function leftBy(child: Child, folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
  const contents = paths.map((name) => [name, readFileSync(join(folder, name), 'latin1')] as const);
  return { stderr: child.complaints(), ...Object.fromEntries(contents) };
}

function placesWith(secret: string, places: Readonly<Record<string, string>>): string[] {
  return Object.keys(places).filter((place) => places[place]!.includes(secret));
}

async function verify({ folder }: Served, secret: string): Promise<number | null> {
  const args = ['audit', 'verify', '--config', join(folder, 'toolcrib.yaml')];
  return (await runCommandLine(args, { CANARY: secret })).code;
}
