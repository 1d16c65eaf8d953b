import { parentPort, workerData } from 'node:worker_threads';
import { search } from '@jmespath-community/jmespath';
import Papa from 'papaparse';
import { parseDocument, stringify } from 'yaml';
import { isDeeperThan, isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Format, TransformReply, TransformRequest } from './transform-messages.ts';

// As deep as messages may be; libraries that work through data call themselves for every level.
const MAX_DEPTH = 64;

function transform({ data, from, query, to, maxBytes }: TransformRequest): TransformReply {
  let value: unknown;
  try {
    value = readers[from](data);
    if (isDeeperThan(MAX_DEPTH, value)) throw new Error(`it is nested over ${MAX_DEPTH} levels deep.`);
    forgetPrototypes(value);
  } catch (error) {
    return {
      error: 'Invalid data',
      message: `The data is no ${from.toUpperCase()} that can be read: ${wordsOf(error)}`,
    };
  }
  let found: unknown;
  try {
    found = search(value as Parameters<typeof search>[0], query) ?? null;
    if (typeof found === 'function') found = null;
  } catch (error) {
    return { error: 'Invalid query', message: `The query cannot be used: ${wordsOf(error)}` };
  }
  const text = writers[to](found);
  if (text === undefined)
    return {
      error: 'No table',
      message: 'CSV takes a list of objects or of lists; change the query, or ask for JSON.',
    };
  if (Buffer.byteLength(text) > maxBytes)
    return {
      error: 'Result too large',
      message: `The result has over ${maxBytes} bytes; ask for less of it.`,
    };
  return { text };
}

// The library also finds inherited members of objects; without these there is only the data.
function forgetPrototypes(value: unknown): void {
  const waiting = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next)) Object.setPrototypeOf(next, null);
    for (const inner of Object.values(next)) waiting.push(inner);
  }
}

const readers: Readonly<Record<Format, (text: string) => unknown>> = {
  json: parseJson,
  csv: readCsv,
  yaml: readYaml,
};

const writers: Readonly<Record<Format, (value: unknown) => string | undefined>> = {
  json: (value) => JSON.stringify(value),
  csv: writeCsv,
  yaml: (value) => stringify(value, { aliasDuplicateObjects: false }),
};

// Rows are made by hand, because a column may be called like something every object has.
function readCsv(text: string): unknown {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\uFEFF/, ''), { skipEmptyLines: true });
  const broken = errors.find(({ type }) => type === 'Quotes');
  if (broken) throw new Error(`${broken.message} in row ${(broken.row ?? 0) + 1}.`);
  const [names = [], ...rows] = data;
  return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
}

function readYaml(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: true, logLevel: 'silent' });
  const [error] = document.errors;
  if (error) throw error;
  // A few lines of anchors can expand to gigabytes.
  return document.toJS({ maxAliasCount: 100 });
}

function writeCsv(value: unknown): string | undefined {
  if (!Array.isArray(value) || !value.every((row) => Array.isArray(row) || isObject(row))) return undefined;
  if (value.every(Array.isArray)) return Papa.unparse(value.map((row) => (row as unknown[]).map(cellOf)));
  const names = [...new Set(value.flatMap((row) => Object.keys(row as object)))];
  const cells = value.map((row) =>
    names.map((name) =>
      cellOf(Object.hasOwn(row as object, name) ? (row as Record<string, unknown>)[name] : null),
    ),
  );
  return Papa.unparse([names, ...cells]);
}

function cellOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

function wordsOf(error: unknown): string {
  const [line = ''] = (error as Error).message.split('\n');
  return line.slice(0, 300).replace(/[^.]$/, '$&.');
}

parentPort!.postMessage(transform(workerData as TransformRequest));
