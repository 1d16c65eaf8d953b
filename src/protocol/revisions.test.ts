import { expect, test } from 'vitest';
import { namesModern } from './era.ts';
import { modernVersions, newestLegacy, revisionOf, revisions } from './revisions.ts';

test('revisions are listed newest first, each under its own version', () => {
  const versions = revisions.map(({ version }) => version);
  expect(versions).toEqual([...new Set(versions)].toSorted().toReversed());
  for (const revision of revisions) expect(revisionOf(revision.version)).toBe(revision);
});

test('a revision belongs to the era its version names', () => {
  for (const { version, era } of revisions) expect(era).toBe(namesModern(version) ? 'modern' : 'legacy');
  expect(modernVersions.every(namesModern)).toBe(true);
  expect(namesModern(newestLegacy.version)).toBe(false);
});

test.each(['', '2025-03-26', '2026-07-28 ', '2026-07-28\0', 'constructor', '__proto__', 'toString'])(
  'A14 %j is no revision',
  (version) => {
    expect(revisionOf(version)).toBeUndefined();
  },
);
