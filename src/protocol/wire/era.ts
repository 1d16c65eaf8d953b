import { ToolcribError } from '../../base/errors.ts';
import type { NotificationMessage, RequestMessage } from './json-rpc.ts';
import { metaKeys, metaOf } from './meta.ts';

/** The two families of revisions: stateless requests, or an `initialize` handshake first. */
export type Era = 'modern' | 'legacy';

const FIRST_MODERN = '2026-07-28';

/** Whether a version string names a revision of the modern era, known or not. */
export function namesModern(version: unknown): boolean {
  return typeof version === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= FIRST_MODERN;
}

/**
 * Tells which era a message belongs to. The body decides; the header is only compared with it, so that neither a
 * header alone nor a malformed modern request can change the era.
 */
export function eraOf(message: RequestMessage | NotificationMessage, versionHeader: string | undefined): Era {
  const claim = metaOf(message.params)[metaKeys.protocolVersion];
  const headerIsModern = namesModern(versionHeader);
  if (message.method === 'initialize' && !namesModern(claim)) {
    if (!headerIsModern) return 'legacy';
    throw new ToolcribError(
      'header_mismatch',
      `"initialize" is not a method of ${versionHeader}, which MCP-Protocol-Version names.`,
    );
  }
  if (claim !== undefined) return 'modern';
  if (!headerIsModern) return 'legacy';
  if (message.kind === 'notification') return 'modern';
  throw new ToolcribError(
    'incomplete_meta',
    `A request of ${versionHeader} needs ${metaKeys.protocolVersion} and ${metaKeys.clientCapabilities} in "params._meta".`,
  );
}
