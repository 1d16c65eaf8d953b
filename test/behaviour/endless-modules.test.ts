import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { readAllRows } from '../gateway.ts';
import { prepare, serve, type Served } from '../served.ts';
import { cli, startNode, type Child } from './child.ts';

const good = (name: string): string => `
  import { defineTool } from 'toolcrib';
  export const tool = defineTool({ name: '${name}', description: 'Gets it.' }, () => '${name}');`;
const endless = `
  console.error('{"message":"it is being loaded"}');
  await new Promise(() => { setInterval(() => {}, 1_000); });
  export const x = 1;`;
// Nothing of this process would keep it.
const idle = 'await new Promise(() => {});\nexport const x = 1;';
const reason = /It was not loaded after 10 seconds/;

test('a file that never ends loading is reported by a server and by check, and the others are served', async () => {
  const open = { auth: undefined as never, access: undefined as never };
  const check = async (source: string): Promise<{ code: number | null; output: string }> => {
    const folder = prepare({ files: { 'tools/a.ts': good('aa'), 'tools/h.ts': source }, config: open });
    const child = startNode([cli, 'check', join(folder, 'toolcrib.yaml')]);
    const [output, { code }] = await Promise.all([text(child.process.stdout), child.exit]);
    return { code, output };
  };
  const files = { 'tools/a.ts': good('aa'), 'tools/h.ts': endless, 'tools/z.ts': good('zz') };
  const [held, left, served] = await Promise.all([check(endless), check(idle), serve({ files })]);
  for (const { code, output } of [held, left]) {
    expect(output).toMatch(reason);
    expect(output).toContain('tools/h.ts');
    expect(code).toBe(1);
  }
  expect(served.greeting).toContain('serves aa, zz at');
  await expect.poll(() => served.child.complaints()).toContain('tools/h.ts cannot be used.');
}, 60_000);

test('while a server runs, such a file holds up the changes of others for ten seconds, and no longer', async () => {
  const served = await serve({ files: { 'tools/a.ts': good('aa') } });
  await addEndless(served);
  writeFileSync(join(served.folder, 'tools/z.ts'), good('zz'));
  const ada = await served.connect('ada');
  const names = async (): Promise<string[]> => (await ada.list()).tools.map(({ name }) => String(name));
  await expect.poll(names, { timeout: 20_000 }).toEqual(['aa', 'zz']);
  await expect.poll(() => served.child.complaints()).toMatch(reason);
  rmSync(join(served.folder, 'tools/z.ts'));
  await expect.poll(names, { timeout: 10_000 }).toEqual(['aa']);
}, 60_000);

test.each([
  ['while a file is being loaded', async () => {}],
  [
    'while a configuration is being put to use that has such a file',
    async ({ child }: Served) => {
      child.process.kill('SIGHUP');
      await expect.poll(() => timesLoaded(child), { timeout: 10_000 }).toBe(2);
    },
  ],
])('SIGTERM closes the listener at once, and ends the process, %s', async (_when, prepareToStop) => {
  const config = { server: { listen: '127.0.0.1:0', drainSeconds: 5 } };
  const served = await serve({ files: { 'tools/a.ts': good('aa') }, config });
  const { child, folder, url } = served;
  await addEndless(served);
  await prepareToStop(served);
  child.process.stdout.resume();
  child.process.kill('SIGTERM');
  await expect.poll(() => fetch(url).catch(() => 'refused'), { timeout: 2_000 }).toBe('refused');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(readAllRows(folder).at(-1)).toMatchObject({ kind: 'stop' });
  expect(child.complaints()).not.toContain('cannot be used. ');
});

async function addEndless({ child, folder }: Served): Promise<void> {
  writeFileSync(join(folder, 'tools/h.ts'), endless);
  await expect.poll(() => timesLoaded(child), { timeout: 10_000 }).toBe(1);
}

function timesLoaded(child: Child): number {
  return child.complaints().split('it is being loaded').length - 1;
}
