import { ToolcribError } from '../base/errors.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { ToolSource } from '../core/source.ts';
import type { Tool } from '../core/tool.ts';
import type { Log } from '../observe/log.ts';
import { getTimeTool } from '../tools/get-time.ts';
import { pingTool } from '../tools/ping.ts';
import { serverInfoTool } from '../tools/server-info.ts';
import { complaintError, formatPath, type Complaint } from '../config/complaint.ts';
import type { Config } from './settings/config.ts';
import { readyEntries, type EntryOf, type ReadyEntry } from './settings/ready-entries.ts';
import type { TableReader } from '../tools/database/list-tables.ts';
import type { LoadedConfig } from './settings/load-config.ts';
import { createOpenApiTools } from './openapi-tools.ts';

/** What ready-made tools are made with. */
export interface ReadyParts {
  readonly loaded: LoadedConfig;
  readonly version: string;
  /** The tools as callers see them. */
  readonly source: Pick<ToolSource, 'list'>;
  readonly log: Log;
}

/** Ready-made tools and their resources. */
export interface ReadyTools {
  readonly tools: readonly Tool[];
  /** Parts of OpenAPI descriptions that are not offered, each with its place in the configuration. */
  readonly warnings: readonly Complaint[];
  /** Lets calls under way finish, then closes connections and processes. */
  close(): Promise<void>;
}

/** Makes the configured ready-made tools; only those are loaded. */
export async function createReadyTools(parts: ReadyParts): Promise<ReadyTools> {
  const { loaded } = parts;
  const made: Placed[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(made.map(async (one) => one.close?.()));
  };
  try {
    for (const name of Object.keys(makers) as Name[])
      for (const entry of readyEntries(loaded.config.tools.ready, name))
        made.push({ ...(await make(name, entry, parts)), path: entry.path });
    made.push(...(await tableList(made, parts)));
    made.push(...(await createOpenApiTools(parts)));
    refuseSameNames(made, loaded);
  } catch (error) {
    await close();
    throw error;
  }
  const warnings = made.flatMap(({ path, problems = [] }) =>
    problems.map((message) => loaded.complain(path, { message, severity: 'warning' })),
  );
  return { tools: made.flatMap(({ tools }) => tools), warnings, close };
}

type Name = Exclude<keyof Config['tools']['ready'], 'list_tables'>;

interface Made {
  readonly tools: readonly Tool[];
  /** Those of them that read tables. */
  readonly readers?: readonly TableReader[];
  readonly close?: () => Promise<void>;
}

/** Tools and their place in the configuration. */
interface Placed extends Made {
  readonly path: readonly PropertyKey[];
  readonly problems?: readonly string[];
}

type Makers = {
  readonly [N in Name]-?: (options: EntryOf<N>, parts: ReadyParts) => Awaitable<Made>;
};

const makers: Makers = {
  ping: () => ({ tools: [pingTool()] }),
  server_info: (_options, { loaded, version, source }) => ({
    tools: [
      serverInfoTool({
        name: loaded.config.server.name,
        version: loaded.config.server.version ?? version,
        source,
        configuration: shownSettings(loaded.config),
      }),
    ],
  }),
  get_time: () => ({ tools: [getTimeTool()] }),
  calculate: async () => {
    const { calculateTool } = await import('../tools/compute/calculate.ts');
    return { tools: [calculateTool()] };
  },
  transform_data: async (options) => {
    const { transformDataTool } = await import('../tools/compute/transform-data.ts');
    return { tools: [transformDataTool(options)] };
  },
  get_weather: async (options) => {
    const { getWeatherTool } = await import('../tools/get-weather.ts');
    return { tools: [getWeatherTool(options)] };
  },
  notion: async (options) => {
    const { notionTools } = await import('../tools/notion/notion.ts');
    return { tools: notionTools(options) };
  },
  file_operations: async (options, { loaded }) => {
    const { fileOperationsTool } = await import('../tools/files/file-operations.ts');
    return { tools: [fileOperationsTool(options, { folder: loaded.folder })] };
  },
  run_command: async (options, { loaded }) => {
    const { runCommandTool } = await import('../tools/command/run-command.ts');
    const tool = runCommandTool(options, { folder: loaded.folder });
    return { tools: [tool], close: () => tool.close() };
  },
  fetch_api_data: async (options) => {
    const { fetchApiDataTool } = await import('../tools/fetch-api-data.ts');
    return { tools: [fetchApiDataTool(options)] };
  },
  query_database: async ({ url, ...options }, { loaded, log }) => {
    const [{ databaseQueryTool }, { openSql }] = await Promise.all([
      import('../tools/database/query-database.ts'),
      import('../tools/sql/open.ts'),
    ]);
    const onFailure = (error: unknown): void => log('warn', `${options.name} failed`, { error });
    const db = openSql(url, loaded.folder, { onFailure });
    const tool = databaseQueryTool({ ...options, db, onFailure });
    return { tools: [tool], readers: [tool], close: () => db.close() };
  },
  query_sql: async (options, { loaded, log }) => {
    const { sqlQueryTool } = await import('../tools/database/query-sql.ts');
    const onFailure = (error: unknown): void => log('warn', `${options.name} failed`, { error });
    const tool = sqlQueryTool(options, { folder: loaded.folder, onFailure });
    return { tools: [tool], readers: [tool], close: () => tool.close() };
  },
};

// One list for all of them: which tool reads a table is part of it.
async function tableList(made: readonly Made[], { loaded, source, log }: ReadyParts): Promise<Placed[]> {
  const wanted = loaded.config.tools.ready.list_tables;
  const path = ['tools', 'ready', 'list_tables'];
  const readers = made.flatMap((one) => one.readers ?? []);
  if (wanted === false) return [];
  if (readers.length > 0) {
    const { listTablesTool } = await import('../tools/database/list-tables.ts');
    const onFailure = (error: unknown): void => log('warn', 'list_tables failed', { error });
    return [{ tools: [listTablesTool({ readers, source, onFailure })], path }];
  }
  if (wanted === undefined) return [];
  const remedy = 'add query_database or query_sql, or leave it out';
  throw complaintError([
    loaded.complain(path, { message: 'has no tables to list', remedy, severity: 'error' }),
  ]);
}

async function make(name: Name, { path, options }: ReadyEntry<Name>, parts: ReadyParts): Promise<Made> {
  const maker = makers[name] as (options: unknown, parts: ReadyParts) => Awaitable<Made>;
  try {
    return await maker(options, parts);
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    const complaint = parts.loaded.complain(path, {
      message: `cannot be used: ${error.message}`,
      severity: 'error',
    });
    throw complaintError([complaint]);
  }
}

// The registry would refuse the second one too, but without naming its place.
function refuseSameNames(made: readonly Placed[], { complain }: LoadedConfig): void {
  const places = new Map<string, Placed['path']>();
  const complaints: Complaint[] = [];
  for (const { tools, path } of made) {
    const taken = tools.find(({ name }) => places.has(name));
    for (const { name } of tools) if (!places.has(name)) places.set(name, path);
    if (!taken) continue;
    const message = `offers a tool named "${taken.name}", and so does ${formatPath(places.get(taken.name)!)}`;
    const remedy = path[1] === 'openapi' ? 'set "prefix" here' : 'set another "name" here';
    complaints.push(complain(path, { message, remedy, severity: 'error' }));
  }
  if (complaints.length > 0) throw complaintError(complaints);
}

// Settings that callers may know: they shape requests and results, and reveal nothing about the machine.
function shownSettings({ server, stages }: Config): Readonly<Record<string, unknown>> {
  return {
    delivery: server.delivery,
    max_body_bytes: server.maxBodyBytes,
    page_size: server.pageSize,
    ...(stages.timeout && { timeout_seconds: stages.timeout.seconds }),
    ...(stages.rateLimit && { calls_per_minute: stages.rateLimit.perMinute }),
  };
}
