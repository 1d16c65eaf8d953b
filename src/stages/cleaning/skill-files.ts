import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Call } from '../../core/call.ts';
import type { Result } from '../../core/result.ts';
import type { Cleaner } from './cleaner.ts';

type Finish = (result: Result, call: Call) => Awaitable<Result>;

/**
 * Finishes results, except files of skills: their digests would no longer fit if anything were taken out, so they are
 * passed on as they are, or refused where a cleaner would change them.
 */
export function exceptSkillFiles(finish: Finish, cleaner: Cleaner): Finish {
  return (result, call) => {
    if (call.kind !== 'resource' || !('skillFile' in call.resource) || result.kind === 'needs_input')
      return finish(result, call);
    cleaner.bytes = 0;
    const data = withPlainLines(result.data);
    const isUntouched = cleaner.blocks(data) === data;
    call.record.measure(cleaner.bytes);
    if (isUntouched) return result;
    throw new ToolcribError(
      'refused',
      `${call.uri} has invisible text or a secret in it. A file of a skill is passed on as it is or not at all.`,
    );
  };
}

// Line ends of other systems and the mark at the beginning of a file hide nothing.
function withPlainLines(data: unknown): unknown {
  if (!isObject(data) || !Array.isArray(data['contents'])) return data;
  const contents = (data['contents'] as readonly unknown[]).map((piece) =>
    isObject(piece) && typeof piece['text'] === 'string'
      ? { ...piece, text: piece['text'].replace(/^\uFEFF/, '').replaceAll('\r\n', '\n') }
      : piece,
  );
  return { ...data, contents };
}
