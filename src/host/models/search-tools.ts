import MiniSearch from 'minisearch';
import type { ModelTool } from './model.ts';

const MOST_FOUND = 5;

/** The tool that finds tools whose definitions are held back. */
export const searchToolsTool: ModelTool = {
  name: 'search_tools',
  description:
    'Finds tools whose definitions are not shown yet, by words or by their exact names; those found can be called from the next turn on.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words about what the tool is to do.' },
      names: { type: 'array', items: { type: 'string' }, description: 'Exact names, where they are known.' },
    },
    additionalProperties: false,
  },
};

/** Finds the tools that fit words best, or have one of the names. */
export function searchTools(
  tools: readonly ModelTool[],
  args: Readonly<Record<string, unknown>>,
): readonly ModelTool[] {
  const { query, names } = args;
  const wanted = new Set<unknown>(Array.isArray(names) ? names : []);
  const named = tools.filter(({ name }) => wanted.has(name));
  if (typeof query !== 'string' || query.trim() === '') return named;
  const index = new MiniSearch<{ id: number; name: string; description: string; fields: string }>({
    fields: ['name', 'description', 'fields'],
    tokenize: (text) => text.split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u).filter(Boolean),
    searchOptions: { boost: { name: 3, description: 2 }, prefix: true, fuzzy: 0.2 },
  });
  index.addAll(
    tools.map(({ name, description, inputSchema }, id) => ({
      id,
      name,
      description,
      fields: Object.keys(inputSchema.properties ?? {}).join(' '),
    })),
  );
  const found = index.search(query.slice(0, 500)).slice(0, MOST_FOUND);
  return [...new Set([...named, ...found.map(({ id }) => tools[Number(id)]!)])];
}
