import { expect, test } from 'vitest';
import { readAllRows } from '../gateway.ts';
import { serve, type Served } from '../served.ts';
import { addEndless, good, timesLoaded } from './endless-modules.ts';

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
