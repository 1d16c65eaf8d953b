import { z } from 'zod';

/** The Notion API and its token. */
export const notionOptions = z.strictObject({
  token: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'Give the token alone, without spaces or line breaks.')
    .describe('Token of a Notion integration; the tools see the pages that are shared with it.'),
  baseUrl: z
    .url({ protocol: /^https?$/ })
    .default('https://api.notion.com/v1')
    .describe('Where the API is; change it only for a proxy or a test.'),
  version: z
    .string()
    .regex(/^\d{4}-\d\d-\d\d$/, 'A version of the API is a date, such as 2022-06-28.')
    .default('2022-06-28')
    .describe('Version of the API that is spoken.'),
});
