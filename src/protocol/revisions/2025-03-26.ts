import { legacyRevision } from './handshake.ts';

/** Streamable HTTP, tool annotations, audio, and, in this revision only, batches. */
export const revision20250326 = legacyRevision('2025-03-26', {
  toolAnnotations: true,
  titles: false,
  structured: 'none',
  icons: false,
  audio: true,
  resourceLinks: false,
  paramHeaders: false,
  progressMessages: true,
  completionsCapability: true,
  elicitation: 'none',
  batches: true,
  resumableFromStart: false,
});
