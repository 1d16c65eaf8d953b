import { closeSync, fchmodSync, openSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ToolcribError } from '../../base/errors.ts';
import { writeExact } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { readJson } from '../../base/parse-json.ts';
import type { OnMessage } from '../../client/traffic.ts';

type Message = Readonly<Record<string, unknown>>;

/** One line of a recording; integers that a number cannot hold are `bigint` in it. */
export interface RecordedLine {
  readonly from: 'client' | 'server';
  readonly message: Message;
}

/** A file that messages are written to while they pass. */
export interface Recorder {
  readonly onMessage: OnMessage;
  close(): void;
}

/** Starts a recording, in a file for its owner alone: results may hold anything. */
export function startRecording(file: string): Recorder {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'w', 0o600);
    // A file that is there already may be open to others.
    fchmodSync(descriptor, 0o600);
  } catch (cause) {
    throw new ToolcribError('invalid_setup', `${file} cannot be written; name another with --record.`, {
      cause,
    });
  }
  return {
    onMessage: (from, text) => {
      // As it came, if that is one line: parsing would round large integers.
      const message = /[\r\n]/.test(text) ? oneLine(text) : text;
      writeSync(descriptor, `{"from":"${from}","message":${message}}\n`);
    },
    close: () => closeSync(descriptor),
  };
}

/** Reads a recording back. */
export async function readRecording(file: string): Promise<readonly RecordedLine[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new ToolcribError('invalid_setup', `${file} cannot be read; name a file that --record wrote.`, {
      cause,
    });
  }
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line, index) => {
    const read = parsed(line);
    if (
      isObject(read) &&
      (read['from'] === 'client' || read['from'] === 'server') &&
      isObject(read['message'])
    )
      return { from: read['from'], message: read['message'] };
    throw new ToolcribError('invalid_setup', `${file}:${index + 1}: this is not a line of a recording.`);
  });
}

function oneLine(text: string): string {
  const value = parsed(text);
  return writeExact(value === undefined ? text : value)!;
}

function parsed(text: string): unknown {
  try {
    return readJson(text, 'exact');
  } catch {
    return undefined;
  }
}
