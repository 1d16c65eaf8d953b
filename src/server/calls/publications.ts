import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { content, type ResourceLinkBlock } from '../../core/content.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineResource } from '../../core/resources/resource.ts';
import type { ResourceFace } from '../../core/source.ts';
import type { Publication } from '../../core/call.ts';
import { BoundedMap } from '../../core/memory/bounded-map.ts';

const SCHEME = 'toolcrib-published://';
const DEFAULT_TTL_MS = 60 * 60_000;
const MIB = 1_048_576;
const MAX_LENGTH = 16 * MIB;
const LIMITS = {
  caller: { rows: 100, bytes: 32 * MIB },
  tenant: { rows: 400, bytes: 64 * MIB },
  total: { rows: 1_000, bytes: 128 * MIB },
};
// The last moment a date can name.
const MAX_TIME = 8.64e15;

interface Published extends Publication {
  readonly uri: string;
  readonly owner: string;
  readonly expiresAt: number;
}

/**
 * Results that tools published instead of sending them: each is for its caller alone, at an address that cannot be
 * guessed, for a limited time.
 */
export class Publications {
  readonly #clock: Clock;
  readonly #published = new BoundedMap<Published>(LIMITS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keeps something for a caller and returns the link to it. */
  publish(publication: Publication, caller: Caller): ResourceLinkBlock {
    const { name, mimeType, description, ttlMs = DEFAULT_TTL_MS } = publication;
    const uri = `${SCHEME}${randomBytes(16).toString('base64url')}`;
    const expiresAt = this.#clock.now() + ttlMs;
    // Without a time at which it expires it would never be deleted.
    if (!(ttlMs > 0 && expiresAt <= MAX_TIME))
      throw new ToolcribError('tool_failed', 'ttlMs must say for how many milliseconds it is kept.');
    this.#sweep();
    const bytes = publication.data.length;
    if (bytes > MAX_LENGTH) throw new ToolcribError('tool_failed', 'This is too large to be published here.');
    const owner = ownerOf(caller);
    this.#published.set(uri, { ...publication, uri, owner, expiresAt }, { owner, bytes });
    const until = `Available until ${new Date(expiresAt).toISOString()}.`;
    return content.resourceLink({
      uri,
      name,
      description: description === undefined ? until : `${description} ${until}`,
      ...(mimeType !== undefined && { mimeType }),
    });
  }

  /** The resources of a source, and those published for the caller, which can be read but are not listed. */
  beside(face: ResourceFace | undefined): ResourceFace {
    return {
      list: (caller) => face?.list(caller) ?? NONE,
      templates: (caller) => face?.templates(caller) ?? NONE,
      find: (uri, caller) => (uri.startsWith(SCHEME) ? this.#find(uri, caller) : face?.find(uri, caller)),
      get skills() {
        return face?.skills;
      },
    };
  }

  #find(uri: string, caller: Caller): ReturnType<ResourceFace['find']> {
    const published = this.#published.get(uri);
    if (!published || published.owner !== ownerOf(caller) || published.expiresAt <= this.#clock.now())
      return undefined;
    const { name, mimeType, data } = published;
    return {
      resource: defineResource({ uri, name, ...(mimeType !== undefined && { mimeType }) }, () => data),
      variables: {},
    };
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const { uri, expiresAt } of this.#published.values())
      if (expiresAt <= now) this.#published.delete(uri);
  }
}

const NONE = Object.freeze([]);
