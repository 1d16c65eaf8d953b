import { isObject } from '../../base/json.ts';
import type { ContentBlock } from '../../core/content.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import type { Client } from '../client.ts';

/** The blocks that are for somebody: those that name nobody are for everybody. */
export function filterByAudience(
  blocks: readonly ContentBlock[],
  audience: 'user' | 'assistant',
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

/** Puts what resource links lead to in their place, read from the same server; links that cannot be read stay. */
export async function resolveLinks(
  blocks: readonly ContentBlock[],
  client: Pick<Client, 'readResource'>,
): Promise<readonly ContentBlock[]> {
  const resolved = await Promise.all(blocks.map((block) => resolveLink(block, client)));
  return resolved.flat();
}

async function resolveLink(
  block: ContentBlock,
  client: Pick<Client, 'readResource'>,
): Promise<readonly ContentBlock[]> {
  if (block.type !== 'resource_link') return [block];
  try {
    const { contents } = await client.readResource(block.uri);
    if (!Array.isArray(contents)) return [block];
    const { annotations } = block;
    return (contents as unknown[])
      .filter(isObject)
      .map(
        (resource: JsonObject) =>
          ({ type: 'resource', resource, ...(annotations && { annotations }) }) as never,
      );
  } catch {
    return [block];
  }
}

// Out of range counts as the nearest that is not; what names none is in the middle.
function priorityOf({ annotations }: ContentBlock): number {
  const priority: unknown = annotations?.priority;
  return typeof priority === 'number' ? Math.min(1, Math.max(0, priority)) : 0.5;
}
