import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ToolContext } from '../context.ts';
import { tool, toolsFrom } from './decorator.ts';
import { ToolRegistry } from '../registry.ts';

interface NotionClient {
  search(request: { query: string; page_size: number }): { id: string; title: string }[];
}

class NotionTools {
  readonly #notion: NotionClient;

  constructor(notion: NotionClient) {
    this.#notion = notion;
  }

  @tool({
    name: 'search_pages',
    description: 'Search for Notion pages by query',
    input: z.object({ query: z.string(), limit: z.number().int().default(10) }),
    annotations: { readOnlyHint: true },
  })
  searchPages({ query, limit }: { query: string; limit: number }): unknown {
    return { results: this.#notion.search({ query, page_size: limit }) };
  }

  @tool({ description: 'Get a Notion page by ID', input: { properties: { id: { type: 'string' } } } })
  getPage({ id }: { id: string }, { caller }: ToolContext): unknown {
    return { id, for: caller.id };
  }

  @tool()
  listHTTPErrorsOf2ndPage(): string[] {
    return [];
  }

  notATool(): string {
    return 'private business';
  }
}

const notion: NotionClient = {
  search: ({ query, page_size: size }) => [{ id: 'a', title: `${query} (${size})` }],
};

test('a decorated method becomes a tool with the name and description it is given (000-18)', async () => {
  const registry = new ToolRegistry().registerTool(...toolsFrom(new NotionTools(notion)));
  expect(registry.getToolNames()).toEqual(['search_pages', 'get_page', 'list_http_errors_of2nd_page']);
  expect(registry.find('search_pages')).toMatchObject({
    description: 'Search for Notion pages by query',
    inputSchema: { properties: { limit: { type: 'integer', default: 10 } }, required: ['query'] },
    annotations: { readOnlyHint: true },
  });
  await expect(registry.execute('search_pages', {})).rejects.toMatchObject({ code: 'invalid_arguments' });
});

test('a decorated method gets its arguments and the context (000-18)', async () => {
  const registry = new ToolRegistry().registerTool(...toolsFrom(new NotionTools(notion)));
  expect(await registry.execute('get_page', { id: 'p1' })).toEqual({ id: 'p1', for: 'local' });
});

test('the bare decorator takes name and description from the name of the method (000-19)', () => {
  const bare = toolsFrom(new NotionTools(notion)).find(({ name }) => name.startsWith('list'));
  expect(bare).toMatchObject({
    name: 'list_http_errors_of2nd_page',
    description: 'List http errors of2nd page.',
    inputSchema: { type: 'object', properties: {} },
  });
});

test('several tools of one class share the client that it was given (000-22)', async () => {
  const queries: string[] = [];
  const tools = toolsFrom(new NotionTools({ search: ({ query }) => (queries.push(query), []) }));
  const registry = new ToolRegistry().registerTool(...tools);
  await registry.execute('search_pages', { query: 'notes' });
  expect(queries).toEqual(['notes']);
  const other = new ToolRegistry().registerTool(...toolsFrom(new NotionTools(notion)));
  expect(await other.execute('search_pages', { query: 'notes' })).toEqual({
    results: [{ id: 'a', title: 'notes (10)' }],
  });
});

test('inherited methods are tools too, and an overridden one counts once', async () => {
  class MoreTools extends NotionTools {
    @tool({ name: 'get_page', description: 'Get a page, faster' })
    override getPage(): unknown {
      return 'fast';
    }
  }
  const registry = new ToolRegistry().registerTool(...toolsFrom(new MoreTools(notion)));
  expect(registry.getToolNames().toSorted()).toEqual([
    'get_page',
    'list_http_errors_of2nd_page',
    'search_pages',
  ]);
  expect(await registry.execute('get_page')).toBe('fast');
});

test('an object without decorated methods has no tools', () => {
  expect(toolsFrom({ run: () => 1 })).toEqual([]);
});

test('reading the tools of an instance runs none of its getters', () => {
  class Touchy {
    get mood(): never {
      throw new Error('Do not touch.');
    }
  }
  expect(toolsFrom(new Touchy())).toEqual([]);
});

test('a decorator on anything but a method is refused', () => {
  const decorate = tool();
  expect(() => decorate(undefined, { kind: 'field' })).toThrow('@tool() belongs on a method.');
  expect(() => decorate({}, 'mood', { get: () => 1 })).toThrow('@tool() belongs on a method.');
  expect(() => decorate(NotionTools, { kind: 'class' })).toThrow('@tool() belongs on a method.');
});

test('a method marked without a schema accepts any arguments, like a registered function (000-19)', async () => {
  class Search {
    @tool()
    findPages({ query }: { query: string }): string {
      return `Found ${query}.`;
    }
  }
  const registry = new ToolRegistry().registerTool(...toolsFrom(new Search()));
  expect(await registry.execute('find_pages', { query: 'tools' })).toBe('Found tools.');
});
