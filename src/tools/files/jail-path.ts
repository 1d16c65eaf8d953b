import { JailRefusal } from './jail-refusal.ts';

/** Which names a path may hold. */
export interface PathRules {
  /** Whether names may begin with a dot. */
  readonly hidden: boolean;
}

/** How the names of files begin that are being written; no caller can name or see them. */
export const TEMPORARY_PREFIX = '.toolcrib-';

/** The names on the way from the root to what a path means, none for the root itself; a path that could mean anything else is refused. */
export function parsePath(path: string, rules: PathRules): readonly string[] {
  // A slash too many and a dot name the place one is at.
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

/** What follows the last dot of a name, in lower case. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot === -1 ? '' : name.slice(dot + 1).toLowerCase();
}

const MAX_DEPTH = 64;

// Half a character is refused because the file system would be asked for another name than the one that was checked.
const UNSAFE_CHARACTER = /[\p{Cc}\p{Cs}\\/:]/u;

// Some volumes leave these out, and then mean another file.
const UNSAFE_END = /[ .]$/;

// These are devices wherever a Windows system serves the volume, whatever ending follows.
const DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$) *(?:\.|$)/i;
