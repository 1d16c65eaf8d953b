import { isObject } from '../../base/json.ts';
import type { ContentBlock, ResourceLinkBlock } from '../../core/content.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import type { Client } from '../client.ts';

type Audience = 'user' | 'assistant';

/** The blocks for an audience; blocks without an audience are for everybody. */
export function filterByAudience(
  blocks: readonly ContentBlock[],
  audience: Audience,
): readonly ContentBlock[] {
  return blocks.filter(({ annotations }) => {
    const named: unknown = annotations?.audience;
    return !Array.isArray(named) || named.length === 0 || named.includes(audience);
  });
}

/** The blocks that fit into so many bytes, by priority; their order stays, and so does what has priority 1. */
export function trimByPriority(blocks: readonly ContentBlock[], maxBytes: number): readonly ContentBlock[] {
  const kept = new Set<ContentBlock>();
  let left = maxBytes;
  const byPriority = blocks
    .map((block, index) => ({ block, index, priority: priorityOf(block) }))
    .toSorted((a, b) => b.priority - a.priority || a.index - b.index);
  for (const { block, priority } of byPriority) {
    const bytes = Buffer.byteLength(JSON.stringify(block));
    if (bytes > left && priority < 1) continue;
    left -= bytes;
    kept.add(block);
  }
  return blocks.filter((block) => kept.has(block));
}

/** Which links are read. */
export interface ResolveOptions {
  /** Links for another audience stay as they are. */
  readonly audience?: Audience;
  /** Links with a lower priority stay as they are, from 0 to 1; one that names none has 0.5. */
  readonly minPriority?: number;
  readonly signal?: AbortSignal;
}

const READ_AT_ONCE = 8;

/**
 * Puts what resource links lead to in their place, read from the same server, each address once; links that cannot be
 * read stay.
 */
export async function resolveLinks(
  blocks: readonly ContentBlock[],
  client: Pick<Client, 'readResource'>,
  { audience, minPriority = 0, signal }: ResolveOptions = {},
): Promise<readonly ContentBlock[]> {
  const meant = new Set(audience === undefined ? blocks : filterByAudience(blocks, audience));
  const isWanted = (block: ContentBlock): block is ResourceLinkBlock =>
    block.type === 'resource_link' &&
    typeof block.uri === 'string' &&
    meant.has(block) &&
    priorityOf(block) >= minPriority;
  const waiting = [...new Set(blocks.filter(isWanted).map(({ uri }) => uri))];
  const found = new Map<string, readonly JsonObject[]>();
  const readOn = async (): Promise<void> => {
    for (let uri = waiting.shift(); uri !== undefined; uri = waiting.shift())
      found.set(uri, await contentsOf(uri, client, signal));
  };
  // A result may hold any number of links.
  await Promise.all(Array.from({ length: READ_AT_ONCE }, readOn));
  return blocks.flatMap((block) => {
    const contents = isWanted(block) ? found.get(block.uri)! : [];
    return contents.length === 0 ? [block] : contents.map((resource) => embedded(resource, block));
  });
}

async function contentsOf(
  uri: string,
  client: Pick<Client, 'readResource'>,
  signal: AbortSignal | undefined,
): Promise<readonly JsonObject[]> {
  try {
    const { contents } = await client.readResource(uri, signal && { signal });
    return Array.isArray(contents) ? (contents as unknown[]).filter(isObject) : [];
  } catch (error) {
    if (signal?.aborted) throw error;
    return [];
  }
}

function embedded(resource: JsonObject, { annotations }: ContentBlock): ContentBlock {
  return { type: 'resource', resource, ...(annotations && { annotations }) } as never;
}

// Out of range counts as the nearest that is not; what names none is in the middle.
function priorityOf({ annotations }: ContentBlock): number {
  const priority: unknown = annotations?.priority;
  return typeof priority === 'number' ? Math.min(1, Math.max(0, priority)) : 0.5;
}
