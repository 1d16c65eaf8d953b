import { z } from 'zod';
import { attempt } from '../../base/attempt.ts';
import { requireConfirmation } from '../../core/authoring/confirmation.ts';
import { isObject } from '../../base/json.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { clampedInt } from '../clamped-int.ts';
import { extractTitle } from './extract-title.ts';
import {
  invalidPageId,
  NotionClient,
  NotionError,
  pageIdPattern,
  type NotionPage,
  type PageText,
  type NotionSettings,
} from './client.ts';

/**
 * Tools to find, read and delete Notion pages: `search_pages`, `get_page` and `delete_page`, which asks before it
 * deletes.
 */
export function notionTools(settings: NotionSettings): readonly Tool[] {
  const client = new NotionClient(settings);
  const asking = requireConfirmation(deletePage(client), {
    message: 'Please confirm deletion by calling with confirmed=true',
  });
  return [searchPages(client), getPage(client), asking] as readonly Tool[];
}

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true };
const DELETES = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true };

const pageId = z
  .string()
  .regex(pageIdPattern, invalidPageId)
  .describe('Id of the page, as search_pages returns it.');

function searchPages(client: NotionClient) {
  return defineTool(
    {
      name: 'search_pages',
      description:
        'Searches Notion for pages by the words in their titles. Returns id, title and url of each page found. Use it to find a page before you read or delete it.',
      input: z.strictObject({
        query: z
          .string('Query must be a text')
          .min(2, 'Query must be at least 2 characters')
          .max(1_000, 'Query must be at most 1000 characters')
          .describe('Words to look for; at least 2 characters.'),
        limit: clampedInt({
          min: 1,
          max: 100,
          default: 10,
          description: 'How many pages to return at most.',
        }),
      }),
      output: z.object({
        results: z.array(z.object({ id: z.string(), title: z.string(), url: z.string() })),
      }),
      annotations: READS,
    },
    async ({ query, limit }, { signal }) =>
      orFailure(async () => {
        const pages = await client.searchPages(query, limit, signal);
        return {
          results: pages.map((page) => ({
            id: page.id,
            title: extractTitle(page),
            url: textOf(page, 'url'),
          })),
        };
      }),
  );
}

function getPage(client: NotionClient) {
  return defineTool(
    {
      name: 'get_page',
      description:
        'Reads a Notion page by its id. Returns its title, its properties and when it was created and last edited; with include_text also the text on it, without what is nested in its blocks. Use it to see the details of a page you have found.',
      input: z.strictObject({
        pageId,
        include_text: z.boolean().default(false).describe('Also return the text on the page.'),
      }),
      output: z.object({
        id: z.string(),
        title: z.string(),
        properties: z.record(z.string(), z.unknown()),
        created_time: z.string(),
        last_edited_time: z.string(),
        text: z.string().optional(),
        text_is_whole: z.boolean().optional(),
      }),
      annotations: READS,
    },
    async (args, { signal }) =>
      orFailure(async () => {
        const page = await client.getPage(args.pageId, signal);
        return {
          id: page.id,
          title: extractTitle(page),
          properties: isObject(page['properties']) ? page['properties'] : {},
          created_time: textOf(page, 'created_time'),
          last_edited_time: textOf(page, 'last_edited_time'),
          ...(args.include_text && shownText(await client.getText(args.pageId, signal))),
        };
      }),
  );
}

function deletePage(client: NotionClient) {
  return defineTool(
    {
      name: 'delete_page',
      description:
        'Deletes a Notion page: moves it to the trash. Returns the status and the id of the page. Use it only when somebody wants the page gone.',
      input: z.strictObject({ pageId }),
      output: z.object({ status: z.literal('deleted'), pageId: z.string() }),
      annotations: DELETES,
    },
    async (args, { signal }) =>
      orFailure(async () => {
        await client.trashPage(args.pageId, signal);
        return { status: 'deleted' as const, pageId: args.pageId };
      }),
  );
}

function shownText({ text, isWhole }: PageText): { text: string; text_is_whole: boolean } {
  return { text, text_is_whole: isWhole };
}

async function orFailure<T>(work: () => Promise<T>) {
  const outcome = await attempt(work, { catch: NotionError });
  return outcome.success ? outcome.data : outcome;
}

function textOf(page: NotionPage, field: string): string {
  const value = page[field];
  return typeof value === 'string' ? value : '';
}
