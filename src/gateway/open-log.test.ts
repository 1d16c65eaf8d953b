import { expect, test, vi } from 'vitest';
import type { Log } from '../observe/log.ts';
import { createLog } from '../observe/pino-log.ts';
import { openLog } from './open-log.ts';
import type { LoadedConfig } from './settings/load-config.ts';

vi.mock('../observe/pino-log.ts', () => ({ createLog: vi.fn() }));

test('a log that cannot be opened at first keeps its entries, and writes them with the next one', async () => {
  const written: string[] = [];
  const write: Log = (_level, text) => void written.push(text);
  vi.mocked(createLog)
    .mockImplementationOnce(() => {
      throw new Error('too many open files');
    })
    .mockReturnValue(write);
  const loaded = { config: { log: { level: 'info' } }, secrets: [] } as unknown as LoadedConfig;
  const { log } = openLog(loaded, undefined);
  log('error', 'first');
  await vi.waitFor(() => expect(createLog).toHaveBeenCalledTimes(1));
  expect(written).toEqual([]);
  log('info', 'second');
  await vi.waitFor(() => expect(written).toEqual(['first', 'second']));
  log('info', 'third');
  expect(written).toEqual(['first', 'second', 'third']);
});
