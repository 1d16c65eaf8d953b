import { legacyRevision } from './handshake.ts';

/** Icons, URL elicitation beside forms, and streams that a server may close early. */
export const revision20251125 = legacyRevision('2025-11-25', {
  toolAnnotations: true,
  titles: true,
  structured: 'objects',
  icons: true,
  audio: true,
  resourceLinks: true,
  paramHeaders: false,
  progressMessages: true,
  completionsCapability: true,
  elicitation: 'modes',
  batches: false,
  resumableFromStart: true,
});
