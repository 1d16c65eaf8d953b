import { z } from 'zod';
import { fileOperationsOptions } from '../../tools/files/options.ts';
import { fetchApiDataOptions } from '../../tools/fetch-api-data-options.ts';
import { getWeatherOptions } from '../../tools/get-weather-options.ts';
import { notionOptions } from '../../tools/notion/options.ts';
import { openApiEntry } from '../../tools/openapi/options.ts';
import { transformDataOptions } from '../../tools/compute/transform-data-options.ts';
import { queryDatabaseOptions } from '../../tools/database/options.ts';
import { querySqlOptions } from '../../tools/database/query-sql-options.ts';
import { runCommandOptions } from '../../tools/command/options.ts';

const nothingToSet = z.strictObject({});

// One entry, or a list of them, each with a name of its own.
const oneOrMore = <T extends z.ZodType>(options: T) => z.union([options, z.array(options).min(1)]);

/** `tools.ready`: the ready-made tools, each with its options. */
export const readySection = z.strictObject({
  ping: nothingToSet.exactOptional().describe('Answers `pong`: proves that calls come back.'),
  server_info: nothingToSet.exactOptional().describe('Tells name, version, protocol and what there is.'),
  get_time: nothingToSet.exactOptional().describe('Tells the time in any time zone.'),
  calculate: nothingToSet.exactOptional().describe('Computes with exact decimals.'),
  transform_data: transformDataOptions
    .exactOptional()
    .describe('Filters and converts JSON, CSV and YAML with JMESPath.'),
  get_weather: getWeatherOptions.exactOptional().describe('Tells the weather at a place.'),
  notion: notionOptions.exactOptional().describe('Finds, reads and deletes pages in Notion.'),
  file_operations: oneOrMore(fileOperationsOptions)
    .exactOptional()
    .describe('Reads, and if allowed writes, files below one folder.'),
  run_command: runCommandOptions.exactOptional().describe('Runs programs you name, without a shell.'),
  fetch_api_data: oneOrMore(fetchApiDataOptions)
    .exactOptional()
    .describe('Fetches data over https from hosts you list.'),
  query_database: oneOrMore(queryDatabaseOptions)
    .exactOptional()
    .describe('Reads rows of the tables you list, in SQLite, PostgreSQL or MySQL.'),
  query_sql: oneOrMore(querySqlOptions)
    .exactOptional()
    .describe('Runs one read-only SELECT over tables you list.'),
  list_tables: z
    .union([z.literal(false), nothingToSet])
    .exactOptional()
    .describe('Lists the tables and columns those two can read; comes with them unless `false`.'),
});

const openApiFile = z.string().min(1);

/** `tools`: which tools there are. */
export const toolsSection = z.strictObject({
  modules: z
    .array(z.string().min(1))
    .default([])
    .describe('Files with tools, TypeScript or JavaScript, such as `./tools/*.ts`; relative to this file.'),
  openapi: z
    .union([openApiFile, openApiEntry, z.array(z.union([openApiFile, openApiEntry]))])
    .default([])
    .describe(
      'OpenAPI descriptions whose operations become tools: a file, its options, or a list of either.',
    ),
  annotationDefaults: z
    .enum(['spec', 'saas'])
    .default('spec')
    .describe(
      'What hints tools without any are listed with: none, so that the cautious defaults of the protocol hold, or those of a tool that only reads.',
    ),
  ready: readySection
    .prefault({ ping: {}, server_info: {}, get_time: {} })
    .describe('The ready-made tools to offer; `{}` for none.'),
});
