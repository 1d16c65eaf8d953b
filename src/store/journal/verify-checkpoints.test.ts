import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createStoreFolder, type StoreFolder } from '../../../test/store-folder.ts';
import { genesis, linkRow, writeRow } from './chain.ts';
import { checkpointKeys, openCheckpoint, signCheckpoint } from './checkpoint.ts';

test('E1 two forks signed with one key are detected where they are joined, although every row fits', async () => {
  const folder = await createRecord(['acme', 'lonely', 'acme']);
  // What the same server would have signed, had the lonely row never been written and another in its place.
  const { signing, checking } = checkpointKeys(folder.signingKey);
  const head = linkRow(genesis('quiet'), '{}');
  const heads = { quiet: [head.seq, head.hash] as const };
  const forked = signCheckpoint({ ...openCheckpoint(linesOf(folder)[1]!, checking)!, heads }, signing);
  folder.inside((db) => {
    db.run('update journal set rows = ? where id = 2', writeRow('quiet', head, '{}'));
    db.run("update heads set chain = 'quiet', hash = ? where chain = 'lonely'", head.hash);
  });
  replace(folder, 2, forked);
  expect(folder.verify().problem).toEqual({ what: 'Checkpoint 3 does not follow the one before it.' });
});

test('E1 a signature in another encoding is detected', async () => {
  const folder = await createRecord(['acme', 'acme']);
  const line = linesOf(folder)[1]!;
  // The last letter of a signature ends in bits that reading it passes over.
  const otherLast: Readonly<Record<string, string>> = { A: 'B', Q: 'R', g: 'h', w: 'x' };
  const respelled = line.replace(/.(?= )/, (letter) => otherLast[letter]!);
  const [bytes, otherBytes] = [line, respelled].map((text) => Buffer.from(text.split(' ')[0]!, 'base64url'));
  expect(otherBytes).toEqual(bytes);
  replace(folder, 2, respelled);
  expect(folder.verify().problem).toEqual({
    what: 'Checkpoint 2 was not signed with this key, or was changed.',
  });
});

/** A record with a row for each of some chains and a checkpoint after every row, which is good. */
async function createRecord(chains: readonly string[]): Promise<StoreFolder> {
  const folder = createStoreFolder();
  const { journal, close } = await folder.open({ checkpointRows: 1 });
  for (const chain of chains) await journal.append({ chain, body: '{}' });
  await close();
  expect(linesOf(folder)).toHaveLength(chains.length);
  expect(folder.verify()).toMatchObject({ problem: undefined, unproven: 0 });
  return folder;
}

function linesOf({ copy }: StoreFolder): string[] {
  return readFileSync(copy, 'utf8').trimEnd().split('\n');
}

/** Puts a line in the place of a checkpoint, in the database and in its copy. */
function replace(folder: StoreFolder, n: number, line: string): void {
  folder.inside((db) => db.run('update checkpoints set line = ? where n = ?', line, n));
  writeFileSync(
    folder.copy,
    `${linesOf(folder)
      .with(n - 1, line)
      .join('\n')}\n`,
  );
}
