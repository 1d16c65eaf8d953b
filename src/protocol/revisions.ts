import { revision20250618 } from './revision-2025-06-18.ts';
import { revision20260728 } from './revision-2026-07-28.ts';
import type { Revision } from './revision.ts';

/** Every revision this server speaks, newest first; dropping one is deleting its line and its file. */
export const revisions: readonly Revision[] = [revision20260728, revision20250618];

/** The revision of a version string. */
export function revisionOf(version: string): Revision | undefined {
  return revisions.find((revision) => revision.version === version);
}

/** The modern revisions' versions, which discovery offers. */
export const modernVersions: readonly string[] = versionsOf('modern');

/** The newest handshake revision: what a client gets that asks for one we do not know. */
export const newestLegacy: Revision = revisions.find((revision) => revision.era === 'legacy')!;

function versionsOf(era: Revision['era']): readonly string[] {
  return revisions.filter((revision) => revision.era === era).map((revision) => revision.version);
}
