import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openCrib } from '../gateway.ts';

const toolText = (name: string): string =>
  `export const tool = { name: '${name}', description: 'Gets it.', inputSchema: { type: 'object' }, handler: () => '${name}' };`;

test.each([
  [
    'moved away and back',
    async (folder: string) => {
      renameSync(folder, `${folder}-away`);
      await pause(1_500);
      renameSync(`${folder}-away`, folder);
    },
  ],
  [
    'deleted and made again',
    async (folder: string) => {
      cpSync(folder, `${folder}-copy`, { recursive: true });
      rmSync(folder, { recursive: true });
      await pause(300);
      mkdirSync(folder);
      cpSync(`${folder}-copy`, folder, { recursive: true });
    },
  ],
])(
  'when the folder of tools is %s, its tools come back, and later changes are followed',
  async (_how, change) => {
    const crib = await openCrib({
      files: { 'more/a.mjs': toolText('aa'), 'more/b.mjs': toolText('bb') },
      config: { tools: { modules: ['./more/*.mjs'], ready: {} } },
      watch: true,
    });
    const ada = await crib.connect('ada');
    const names = async (): Promise<string[]> => (await ada.list()).tools.map(({ name }) => String(name));
    expect(await names()).toEqual(['aa', 'bb']);
    crib.logged.length = 0;
    await change(crib.path('more'));
    const said = (): string[] => crib.logged.map(({ message }) => message);
    await expect.poll(said, { timeout: 10_000 }).toContain('Loaded more/b.mjs.');
    await expect.poll(names, { timeout: 10_000 }).toEqual(['aa', 'bb']);
    writeFileSync(crib.path('more/c.mjs'), toolText('cc'));
    await expect.poll(names, { timeout: 10_000 }).toEqual(['aa', 'bb', 'cc']);
    rmSync(crib.path('more'), { recursive: true });
    await expect.poll(names, { timeout: 10_000 }).toEqual([]);
    expect(said()).toContain('more/c.mjs is gone, and what it offered with it.');
  },
);
