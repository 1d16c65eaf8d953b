import { expect, onTestFinished, test } from 'vitest';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { openCrib } from '../gateway.ts';
import { echo, versions } from './governed-tools.ts';

test('no response is sent before its audit row is written, in every revision (000-39, 004-20)', async () => {
  const { tool, ran } = echo();
  const crib = await openCrib({ offers: [tool] });
  const peers = await Promise.all(versions.map((version) => crib.connect('ada', { version })));
  const callAll = (text: string): Promise<unknown[]> =>
    Promise.all(peers.map((peer) => peer.request('tools/call', { name: 'echo', arguments: { text } })));
  const all = (answer: object): unknown[] => versions.map(() => expect.objectContaining(answer));
  const saying = (text: string): object => ({
    result: expect.objectContaining({ content: [{ type: 'text', text }] }),
  });
  expect(await callAll('first')).toEqual(all(saying('first')));
  // Another writer of the database holds up the record.
  const other = new SqliteDatabase(crib.path('toolcrib.db'), 'existing');
  onTestFinished(() => other.close());
  other.run('begin immediate');
  const message = expect.stringContaining('cannot be recorded');
  expect(await callAll('second')).toEqual(all({ error: expect.objectContaining({ message }) }));
  expect(ran).toContain('second');
  expect(crib.rowsOf('echo')).toHaveLength(versions.length);
  other.run('rollback');
  await expect.poll(() => crib.gateway.isReady).toBe(true);
  expect(await callAll('third')).toEqual(all(saying('third')));
});
