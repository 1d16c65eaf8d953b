import { revision20241105 } from './2024-11-05.ts';
import { revision20250326 } from './2025-03-26.ts';
import { revision20250618 } from './2025-06-18.ts';
import { revision20251125 } from './2025-11-25.ts';
import { revision20260728 } from './2026-07-28.ts';
import type { Revision } from './revision.ts';

/** Every supported revision, newest first; to drop one, delete its line and its file. */
export const revisions: readonly Revision[] = [
  revision20260728,
  revision20251125,
  revision20250618,
  revision20250326,
  revision20241105,
];

const byVersion = new Map(revisions.map((revision) => [revision.version, revision]));

/** The revision of a version string. */
export function revisionOf(version: string): Revision | undefined {
  return byVersion.get(version);
}

/** The versions of the modern revisions, which discovery lists. */
export const modernVersions: readonly string[] = revisions
  .filter(({ era }) => era === 'modern')
  .map(({ version }) => version);

/** The newest handshake revision; clients that ask for an unknown version get this one. */
export const newestLegacy: Revision = revisions.find((revision) => revision.era === 'legacy')!;
