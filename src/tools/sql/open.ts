import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { openMysql, type MysqlDriver } from './mysql.ts';
import { openPostgres, type PostgresDriver, type PostgresOptions } from './postgres.ts';
import { openSqlite, type SqliteDriver } from './sqlite.ts';

/** Opens the database of a URL, read-only; files are relative to the folder. */
export function openSql(
  url: string,
  folder = '.',
  postgres: PostgresOptions = {},
): SqliteDriver | PostgresDriver | MysqlDriver {
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, postgres);
  if (/^(mysql|mariadb):\/\//.test(url))
    return openMysql(url, postgres.onFailure ? { onFailure: postgres.onFailure } : {});
  if (!url.startsWith('sqlite:'))
    throw new ToolcribError('invalid_setup', 'url must begin with "sqlite:", "postgres://" or "mysql://".');
  const file = resolve(folder, url.slice('sqlite:'.length));
  if (!existsSync(file))
    throw new ToolcribError(
      'invalid_setup',
      `url names ${file}, which does not exist; correct it, or create the database.`,
    );
  return openSqlite(file);
}
