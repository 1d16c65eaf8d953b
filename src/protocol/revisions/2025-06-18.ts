import { legacyRevision } from './handshake.ts';

/** Structured output, resource links, titles and forms; no batches. */
export const revision20250618 = legacyRevision('2025-06-18', {
  toolAnnotations: true,
  titles: true,
  structured: 'objects',
  icons: false,
  audio: true,
  resourceLinks: true,
  paramHeaders: false,
  progressMessages: true,
  completionsCapability: true,
  elicitation: 'forms',
  batches: false,
  resumableFromStart: false,
});
