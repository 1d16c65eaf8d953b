import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFileJournal } from './file-journal.ts';

async function fileFor(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-journal-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, name);
}

test('rows are lines of a file, in order, and later ones are appended', async () => {
  const file = await fileFor('run.ndjson');
  const first = await openFileJournal(file);
  await Promise.all(['{"a":1}', '{"a":2}', '{"a":3}'].map((body) => first.append({ chain: 'local', body })));
  expect(await first.commit({ chain: 'local', body: '{"a":4}' }, undefined)).toBe('committed');
  await first.close();
  const second = await openFileJournal(file);
  await second.append({ chain: 'local', body: '{"a":5}' });
  await second.close();
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines).toEqual([1, 2, 3, 4, 5].map((a) => JSON.stringify({ a })));
  expect((await stat(file)).mode & 0o077).toBe(0);
});

test('a closed file accepts no more rows, so no more calls run', async () => {
  const journal = await openFileJournal(await fileFor('run.ndjson'));
  await journal.close();
  expect(journal.isReady).toBe(false);
  await expect(journal.append({ chain: 'local', body: '{}' })).rejects.toMatchObject({
    code: 'record_unavailable',
  });
});

test('a request that needs a database is refused', async () => {
  const journal = await openFileJournal(await fileFor('run.ndjson'));
  onTestFinished(() => journal.close());
  await expect(journal.commit({ chain: 'local', body: '{}' }, undefined, 'apr_1')).rejects.toMatchObject({
    code: 'record_unavailable',
  });
});
