import { readFileSync } from 'node:fs';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { scripted, type ScriptedModel, type ScriptedStep } from '../models/scripted.ts';
import { RECORD_FORMAT } from './record-run.ts';
import type { RunEvent } from './run-events.ts';

/** A record as it was read. */
export interface ReadRecord {
  readonly events: readonly RunEvent[];
  /** Whether the last line was cut off; all lines before it are there. */
  readonly isCutOff: boolean;
}

/** Reads a record back, up to where it was cut off. */
export function readRecord(file: string): ReadRecord {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ToolcribError(
      'invalid_setup',
      `${file} cannot be read; name a file that a run was recorded in.`,
      {
        cause,
      },
    );
  }
  const lines = text.split('\n');
  // A whole record ends with a line break.
  const rest = lines.pop() ?? '';
  const last = rest === '' ? undefined : parsed(rest);
  const events = lines.map((line, index) => eventOf(parsed(line), `${file}:${index + 1}`));
  return {
    events: last === undefined ? events : [...events, eventOf(last, `${file}:${lines.length + 1}`)],
    isCutOff: rest !== '' && last === undefined,
  };
}

/** A model that repeats the turns of a recorded run; it needs no network. */
export function replay(record: ReadRecord, options: { readonly agent?: string } = {}): ScriptedModel {
  const first = record.events.find((event) => event.type === 'run:start');
  const agent = options.agent ?? first?.agent;
  const model = record.events.find((event) => event.type === 'run:start' && event.agent === agent);
  const steps = record.events.flatMap((event): ScriptedStep[] =>
    event.type === 'answer' && event.agent === agent
      ? [
          {
            text: event.message.text,
            toolCalls: event.message.toolCalls,
            stopReason: event.stopReason,
          },
        ]
      : [],
  );
  return scripted(steps, { name: model?.type === 'run:start' ? model.model : 'replay' });
}

function eventOf(value: unknown, place: string): RunEvent {
  if (!isObject(value) || typeof value['type'] !== 'string' || typeof value['agent'] !== 'string')
    throw new ToolcribError('invalid_setup', `${place}: this is no line of a recorded run.`);
  const { format } = value;
  if (typeof format === 'number' && format > RECORD_FORMAT)
    throw new ToolcribError('invalid_setup', `${place}: this record was written by a later version.`);
  return value as unknown as RunEvent;
}

function parsed(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return undefined;
  }
}
