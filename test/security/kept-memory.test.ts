import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startNode } from '../behaviour/child.ts';
import { firstFew } from '../property-runs.ts';

const script = join(import.meta.dirname, 'kept-memory-child.ts');

test('A8 the memory that the server keeps for a client is small, however much the client sent', async () => {
  const asked = firstFew(Object.keys(LIMITS), 1);
  const child = startNode(['--expose-gc', '--import', 'jiti/register', script, ...asked]);
  const kept = JSON.parse(await child.outputUntil('\n')) as Record<string, number>;
  // With the connection, the request and the response that an open stream needs.
  const tooMuch = Object.entries(kept).filter(([what, bytes]) => bytes >= LIMITS[what]!);
  expect(tooMuch).toEqual([]);
  expect(Object.keys(kept)).toEqual(asked);
}, 60_000);

const LIMITS: Readonly<Record<string, number>> = {
  'a stream of changes': 100_000,
  'a session': 30_000,
  'a stream of a talkative client': 100_000,
  'a task that has ended': 30_000,
  'a session that has ended': 1_800,
  'a stream that has ended': 5_000,
};
