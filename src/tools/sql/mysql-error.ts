import type { ToolcribError } from '../../base/errors.ts';
import { sqlError, type SqlTrouble } from './driver.ts';

/** What the server or its library said, as a trouble. */
export function mysqlError(cause: unknown): ToolcribError {
  const { errno = 0, code = '' } = cause as { readonly errno?: number; readonly code?: string };
  const [, trouble] = NUMBERS.find(([numbers]) => numbers.includes(errno)) ?? [];
  if (trouble) return sqlError(trouble, { cause });
  return sqlError(
    /^(E[A-Z]+|PROTOCOL_|HANDSHAKE_|ER_ACCESS_DENIED|ER_BAD_DB)/.test(code) ? 'unavailable' : 'failed',
    {
      cause,
    },
  );
}

// By the numbers of the MySQL and MariaDB error references.
const NUMBERS: readonly (readonly [readonly number[], SqlTrouble])[] = [
  // Ended for taking too long: 1969 by MariaDB, 3024 by MySQL; 1317 and 1927 by KILL.
  [[1317, 1927, 1969, 3024], 'timed_out'],
  // Too many connections, or a lock held by another statement.
  [[1040, 1203, 1205, 1226], 'busy'],
  [[1044, 1045, 1049, 1053, 1077, 1079, 1080, 1130], 'unavailable'],
  [[1146, 1051], 'unknown_table'],
  [[1054], 'unknown_column'],
  [[1142, 1143, 1227, 1290, 1370, 1792, 1836], 'not_permitted'],
  [[1264, 1292, 1366, 1367, 1411, 1525, 1690], 'unfit_value'],
  [[1153, 1301], 'too_large'],
  [[1060, 1064, 1149, 1210, 1221, 1243, 1295, 1248, 1305, 1582], 'invalid_statement'],
];
