import { legacyRevision } from './handshake.ts';

/**
 * The first published revision: text, images and embedded resources, over stdio or HTTP with server-sent events.
 */
export const revision20241105 = legacyRevision('2024-11-05', {
  toolAnnotations: false,
  titles: false,
  structured: 'none',
  icons: false,
  audio: false,
  resourceLinks: false,
  paramHeaders: false,
  progressMessages: false,
  completionsCapability: false,
  elicitation: 'none',
  batches: false,
  resumableFromStart: false,
});
