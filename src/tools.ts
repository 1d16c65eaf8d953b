export { pingTool, PingTool } from './tools/ping.ts';
export { serverInfoTool, ServerInfoTool } from './tools/server-info.ts';
export type { ServerInfoConfig } from './tools/server-info.ts';
export { getTimeTool } from './tools/get-time.ts';
export { getWeatherTool, WeatherTool } from './tools/get-weather.ts';
export type { WeatherSettings } from './tools/get-weather.ts';
export { notionTools } from './tools/notion/notion.ts';
export { NotionClient, NotionError } from './tools/notion/client.ts';
export type { NotionPage, NotionSettings } from './tools/notion/client.ts';
export { extractTitle } from './tools/notion/extract-title.ts';
export { calculateTool } from './tools/compute/calculate.ts';
export type { CalculateArguments } from './tools/compute/calculate.ts';
export { transformDataTool } from './tools/compute/transform-data.ts';
export type { TransformDataArguments, TransformDataOptions } from './tools/compute/transform-data.ts';
export { clampedInt } from './tools/clamped-int.ts';
export type { ClampedRange } from './tools/clamped-int.ts';
export { fileOperationsTool, FileOperationsTool } from './tools/files/file-operations.ts';
export type { FileOperationsOptions, FileOperationsParts } from './tools/files/file-operations.ts';
export { runCommandTool } from './tools/command/run-command.ts';
export type { RunCommandParts, RunCommandTool } from './tools/command/run-command.ts';
export { fetchApiDataTool } from './tools/fetch-api-data.ts';
export type { FetchApiDataParts } from './tools/fetch-api-data.ts';
export type { FetchApiDataOptions } from './tools/fetch-api-data-options.ts';
export { importOpenApi, toolsFromOpenApi } from './tools/openapi/openapi.ts';
export type { OpenApiImport } from './tools/openapi/openapi.ts';
export { readOpenApiFile } from './tools/openapi/file.ts';
export { databaseQueryTool, DatabaseQueryTool } from './tools/database/query-database.ts';
export type { DatabaseQueryConfig } from './tools/database/query-database.ts';
export { listTablesTool } from './tools/database/list-tables.ts';
export type { ListTablesConfig, TableReader } from './tools/database/list-tables.ts';
export type { TableColumns } from './tools/database/table-columns.ts';
export { openSql } from './tools/sql/open.ts';
export { openMysql } from './tools/sql/mysql.ts';
export type { MysqlDriver, MysqlOptions } from './tools/sql/mysql.ts';
export { openPostgres } from './tools/sql/postgres.ts';
export type { PostgresDriver, PostgresOptions } from './tools/sql/postgres.ts';
export { openSqlite } from './tools/sql/sqlite.ts';
export type { SqliteDriver, SqliteOptions } from './tools/sql/sqlite.ts';
export type { SqlDriver, SqlRows, SqlStatement, SqlValue } from './tools/sql/driver.ts';
export { sqlQueryTool } from './tools/database/query-sql.ts';
export type {
  SqlQueryArguments,
  SqlQueryOptions,
  SqlQueryParts,
  SqlQueryTool,
} from './tools/database/query-sql.ts';
