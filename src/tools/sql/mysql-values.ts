import { parseJson } from '../../base/parse-json.ts';

/** A column as the server describes it. */
export interface MysqlField {
  readonly name: string;
  /** The number of its type in the protocol. */
  readonly columnType?: number | undefined;
  /** The type of a value that MariaDB keeps as text, such as JSON. */
  readonly extendedFormat?: string | undefined;
}

/** Turns a row as the library reads it into plain JSON values, as the other databases give them. */
export function mysqlRow(row: readonly unknown[], fields: readonly MysqlField[]): unknown[] {
  return row.map((value, index) => plain(value, fields[index]));
}

// The numbers of the protocol's types never change.
const TIMESTAMP = 7;
const DATETIME = 12;
const BIT = 16;
const JSON_TYPE = 245;

function plain(value: unknown, field: MysqlField | undefined): unknown {
  const type = field?.columnType;
  if (value instanceof Uint8Array)
    return type === BIT ? bitsOf(value) : Buffer.from(value).toString('base64');
  if (typeof value !== 'string') return value;
  if (type === JSON_TYPE || field?.extendedFormat === 'json') return parseJson(value);
  if (type === DATETIME || type === TIMESTAMP) return asTime(value, type === TIMESTAMP ? 'Z' : '');
  return value;
}

function bitsOf(bytes: Uint8Array): number | string {
  const bits = BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
  return bits <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(bits) : String(bits);
}

// A moment is kept in UTC, which is also the zone of the session; a date of zeros is no date, and stays as it is.
function asTime(text: string, zone: string): string {
  const [, day, time] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)$/.exec(text) ?? [];
  return day === undefined || day.startsWith('0000') ? text : `${day}T${time}${zone}`;
}
