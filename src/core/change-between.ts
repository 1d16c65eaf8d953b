import type { ToolChange } from './source.ts';

/** The difference between two lists of tools; a tool whose mark is another one was modified. */
export function changeBetween<T extends { readonly name: string }>(
  before: readonly T[],
  after: readonly T[],
  markOf: (tool: T) => string,
): ToolChange {
  const old = new Map(before.map((tool) => [tool.name, markOf(tool)]));
  const now = new Map(after.map((tool) => [tool.name, markOf(tool)]));
  return {
    kind: 'tools',
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    modified: [...now]
      .filter(([name, mark]) => old.has(name) && old.get(name) !== mark)
      .map(([name]) => name),
  };
}
