import { JailRefusal } from './jail-refusal.ts';

/** Which names a path may contain. */
export interface PathRules {
  /** Whether names may begin with a dot. */
  readonly hidden: boolean;
}

/** The prefix of files that are being written; callers can neither name nor see them. */
export const TEMPORARY_PREFIX = '.toolcrib-';

/** The names from the root to the target of a path, none for the root itself; an ambiguous path is refused. */
export function parsePath(path: string, rules: PathRules): readonly string[] {
  // Empty names and `.` are skipped.
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.length > MAX_DEPTH || !names.every((name) => isSafeName(name, rules))) {
    throw new JailRefusal('invalid');
  }
  return names;
}

/** Whether a name means one entry of a folder, and the same one on every system. */
export function isSafeName(name: string, { hidden }: PathRules): boolean {
  if (name === '' || name === '.' || name === '..') return false;
  if (name.startsWith('.') && (!hidden || name.startsWith(TEMPORARY_PREFIX))) return false;
  return !UNSAFE_CHARACTER.test(name) && !UNSAFE_END.test(name) && !DEVICE_NAME.test(name);
}

/** The extension of a name, in lower case. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? '' : name.slice(dot + 1).toLowerCase();
}

const MAX_DEPTH = 64;

// A lone surrogate is refused, because the file system would get another name than the checked one.
const UNSAFE_CHARACTER = /[\p{Cc}\p{Cs}\\/:]/u;

// Some volumes drop these characters and open another file.
const UNSAFE_END = /[ .]$/;

// Device names on volumes served by Windows, with any extension.
const DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\.|$)/i;
