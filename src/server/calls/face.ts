import { ToolcribError } from '../../base/errors.ts';
import type { Settled } from '../settled.ts';

/** The part of a source a method is about; what a server does not advertise does not exist. */
export function faceOf<T>(face: T | undefined, { message, revision }: Settled): T {
  if (face) return face;
  throw new ToolcribError(
    'unknown_method',
    `This server has nothing for "${message.method}" (${revision.version}).`,
  );
}
