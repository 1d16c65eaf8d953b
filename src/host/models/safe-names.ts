import { createHash } from 'node:crypto';
import type { ListedTool } from '../../core/tool.ts';

/** A tool as the model gets it. */
export type NamedTool = Pick<ListedTool, 'name' | 'description' | 'inputSchema'>;

const MAX_LENGTH = 64;
const HASH_LENGTH = 8;
const SAFE = /^[A-Za-z0-9_-]{1,64}$/;

/** Names that every model API takes, by the tools' own names; no two are the same. */
export function safeNames(tools: readonly Pick<NamedTool, 'name'>[]): ReadonlyMap<string, string> {
  const taken = new Set(tools.map(({ name }) => name).filter((name) => SAFE.test(name)));
  const names = new Map<string, string>();
  for (const { name } of tools) {
    if (names.has(name)) continue;
    const safe = SAFE.test(name) ? name : changed(name, taken);
    taken.add(safe);
    names.set(name, safe);
  }
  return names;
}

/** Gives a tool's own name for one that a model was shown; a name that was not shown stays as it is. */
export function nameBack(tools: readonly Pick<NamedTool, 'name'>[]): (shown: string) => string {
  const own = new Map([...safeNames(tools)].map(([name, safe]) => [safe, name]));
  return (shown) => own.get(shown) ?? shown;
}

function changed(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  const short = plain.slice(0, MAX_LENGTH);
  if (short === plain && plain !== '' && !taken.has(plain)) return plain;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH);
  return `${plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
