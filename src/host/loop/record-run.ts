import { closeSync, fchmodSync, openSync, writeSync } from 'node:fs';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { Secrets } from '../../observe/secrets.ts';
import type { RunEvent, RunSink } from './run-events.ts';

/** A file that a run is written to while it runs. */
export interface RunRecorder {
  readonly record: RunSink;
  readonly close: () => void;
}

/** What a record is written with. */
export interface RecordRunOptions {
  /** Secrets to take out; known formats of keys are taken out anyway. */
  readonly secrets?: Secrets;
  /** Versions to note with each run, such as that of the program. */
  readonly versions?: Readonly<Record<string, string>>;
}

/** The form of the lines; a reader refuses a higher one. */
export const RECORD_FORMAT = 1;

/** Starts a record of runs, one event a line, in a file for its owner alone; secrets are taken out. */
export function recordRun(file: string, options: RecordRunOptions = {}): RunRecorder {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'w', 0o600);
    // A file that is there already may be open to others.
    fchmodSync(descriptor, 0o600);
  } catch (cause) {
    throw new ToolcribError('invalid_setup', `The run cannot be recorded in ${file}; name another file.`, {
      cause,
    });
  }
  const { secrets = new Secrets(), versions = {} } = options;
  return {
    record(event) {
      const line = toLine(event, versions);
      if (line === undefined) return;
      try {
        writeSync(descriptor, `${JSON.stringify(redacted(line, secrets))}\n`);
      } catch (cause) {
        throw new ToolcribError('record_unavailable', `The run cannot be recorded in ${file} any more.`, {
          cause,
        });
      }
    },
    close: () => closeSync(descriptor),
  };
}

// Pieces of text and progress are left out: the whole text and the result are recorded.
function toLine(event: RunEvent, versions: Readonly<Record<string, string>>): object | undefined {
  if (event.type === 'text' || event.type === 'tool:progress') return undefined;
  if (event.type !== 'run:start') return event;
  return { format: RECORD_FORMAT, ...event, versions: { ...versions, ...event.versions } };
}

// Within values: taking something out of the written line could break it.
function redacted(value: unknown, secrets: Secrets): unknown {
  if (typeof value === 'string') return secrets.redact(value);
  if (typeof value === 'number') return secrets.redactNumber(value);
  if (Array.isArray(value)) return value.map((item) => redacted(item, secrets));
  if (!isObject(value)) return value;
  if (value['type'] === 'image' && typeof value['data'] === 'string')
    return { ...value, data: '', bytes: Math.floor((value['data'].length * 3) / 4) };
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [secrets.redact(key), redacted(item, secrets)]),
  );
}
