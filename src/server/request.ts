import type { ClientFacts } from '../core/call.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Era } from '../protocol/wire/era.ts';
import { checkMirrors, headerValue } from '../protocol/wire/headers.ts';
import type { RequestMessage } from '../protocol/wire/json-rpc.ts';
import { clientFacts, readHandshake, readModernMeta } from '../protocol/wire/meta.ts';
import type { Revision } from '../protocol/revisions/revision.ts';
import { modernVersions, newestLegacy, revisionOf, revisions } from '../protocol/revisions/revisions.ts';
import type { Link } from './link.ts';

/** A request that has been understood: its revision, and the facts that its client declared. */
export interface UnderstoodRequest {
  readonly message: RequestMessage;
  readonly revision: Revision;
  readonly client: ClientFacts;
  readonly link: Link;
}

/** The version header of a request, where the transport has headers. */
export function versionHeader(link: Link): string | undefined {
  return link.headers && headerValue(link.headers, 'mcp-protocol-version');
}

/** Understands a request of an era: which revision it is of, and who sends it. */
export function understand(message: RequestMessage, link: Link, era: Era): UnderstoodRequest {
  return era === 'modern' ? understandModern(message, link) : understandLegacy(message, link);
}

// A modern request says everything itself, and its headers must agree.
function understandModern(message: RequestMessage, link: Link): UnderstoodRequest {
  if (link.handshakeOnly) {
    throw new ToolcribError('invalid_request', 'This transport carries the handshake revisions only.');
  }
  const { version, client } = readModernMeta(message.params);
  const header = versionHeader(link);
  if (header !== undefined && header !== version) {
    throw new ToolcribError(
      'header_mismatch',
      'MCP-Protocol-Version differs from the version in "params._meta".',
    );
  }
  const revision = revisionOf(version);
  if (revision?.era !== 'modern') {
    throw new ToolcribError(
      'unsupported_version',
      `Protocol version ${version.slice(0, 40)} is not supported here.`,
      {
        data: { supported: modernVersions, requested: version },
      },
    );
  }
  if (link.headers) checkMirrors(message, version, link.headers);
  return { message, revision, client, link };
}

// A request of the handshake revisions is understood by its session or, without one, by its version header.
function understandLegacy(message: RequestMessage, link: Link): UnderstoodRequest {
  if (message.method === 'initialize') {
    const { wanted, info, capabilities } = readHandshake(message.params);
    const known = revisionOf(wanted);
    const revision = known?.era === 'legacy' ? known : newestLegacy;
    return { message, revision, client: clientFacts(revision.version, info, capabilities), link };
  }
  const { session } = link;
  const named = legacyRevision(link);
  const revision = session?.revision ?? named;
  return { message, revision, client: session?.client ?? clientFacts(revision.version), link };
}

// Over HTTP a request that names no version comes from the last revision that did not have to.
const UNNAMED = revisionOf('2025-03-26') ?? newestLegacy;

function legacyRevision(link: Link): Revision {
  const version = versionHeader(link);
  if (version === undefined) return link.headers ? UNNAMED : newestLegacy;
  const revision = revisionOf(version);
  if (revision?.era === 'legacy') return revision;
  const spoken = revisions.map((each) => each.version).join(', ');
  throw new ToolcribError(
    'invalid_request',
    `MCP-Protocol-Version names ${version.slice(0, 40)}; this server speaks ${spoken}.`,
  );
}
