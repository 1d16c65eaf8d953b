import type { CustomTypesConfig } from 'pg';
import { parseJson } from '../../base/parse-json.ts';

/**
 * Converts PostgreSQL's text format to plain JSON values: dates as ISO text, large and exact numbers as text, bytes as
 * base64.
 */
export function postgresTypes(readArray: ReadArray): CustomTypesConfig {
  const getTypeParser = (oid: number): Read => {
    const element = elementOf[oid];
    if (element === undefined) return readers[oid] ?? asText;
    return (text) => readArray(text, readers[element] ?? asText);
  };
  return { getTypeParser };
}

/** Splits the text of an array and reads each element. */
export type ReadArray = (text: string, read: (entry: string) => unknown) => unknown[];

type Read = (text: string) => unknown;

const asText: Read = (text) => text;

function asWhole(text: string): number | string {
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}

function asFraction(text: string): number | string {
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

// Values without a four-digit year, such as infinity, stay as PostgreSQL writes them.
function asTime(text: string): string {
  const [, day, time, zone] = /^(\d{4}-\d\d-\d\d) ([\d:.]+)(\+00)?$/.exec(text) ?? [];
  return day === undefined ? text : `${day}T${time}${zone === undefined ? '' : 'Z'}`;
}

function asBase64(text: string): string {
  return Buffer.from(text.slice(2), 'hex').toString('base64');
}

// The object ids of PostgreSQL's own types never change.
const readers: Readonly<Record<number, Read>> = {
  16: (text) => text === 't',
  17: asBase64,
  20: asWhole,
  21: asWhole,
  23: asWhole,
  26: asWhole,
  114: parseJson,
  700: asFraction,
  701: asFraction,
  1114: asTime,
  1184: asTime,
  3802: parseJson,
};

const elementOf: Readonly<Record<number, number>> = {
  199: 114,
  1000: 16,
  1001: 17,
  1005: 21,
  1007: 23,
  1009: 25,
  1015: 1043,
  1016: 20,
  1021: 700,
  1022: 701,
  1115: 1114,
  1182: 1082,
  1185: 1184,
  1231: 1700,
  2951: 2950,
  3807: 3802,
};
