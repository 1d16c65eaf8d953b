import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { prepare, serve } from '../served.ts';
import { cli, startNode } from './child.ts';
import { addEndless, endless, good } from './endless-modules.ts';

// Nothing of this process would keep it.
const idle = 'await new Promise(() => {});\nexport const x = 1;';
const reason = /It was not loaded after 10 seconds/;

test('a module that never finishes loading is reported by the server and by check, and the others are served', async () => {
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

test('a module that never finishes loading delays a reload of the others for at most ten seconds', async () => {
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
