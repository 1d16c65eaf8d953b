import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, relative, resolve, sep } from 'node:path';

const MAX_BYTES = 262_144;

/** The text of a file that an agent's file names, or why it is not read. */
export type PromptText = { readonly text: string } | { readonly problem: string };

/**
 * Reads instructions from another file. It must lie in the project and not be hidden there: otherwise a file from
 * anybody could show a model whatever its reader may read.
 */
export function readPromptFile(path: string, folder: string, project: string): PromptText {
  try {
    const file = realpathSync(resolve(folder, path));
    const [own, whole] = [realpathSync(folder), realpathSync(project)];
    // Among the settings of a user there are keys of other programs.
    const reach = basename(whole).startsWith('.') ? own : whole;
    if (!file.startsWith(`${reach}${sep}`))
      return { problem: `names ${path}, which is outside of the project` };
    if (isHidden(relative(whole, file), relative(whole, own)))
      return { problem: `names ${path}, which is hidden` };
    const stats = statSync(file);
    if (!stats.isFile()) return { problem: `names ${path}, which is not a file` };
    if (stats.size > MAX_BYTES) return { problem: `names ${path}, which is larger than ${MAX_BYTES} bytes` };
    return { text: readFileSync(file, 'utf8').trim() };
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    return {
      problem: `names ${path}, which ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}`,
    };
  }
}

// The folder that the agent's file is in begins with a dot itself.
function isHidden(file: string, folder: string): boolean {
  const [settings] = folder.split(sep);
  return file.split(sep).some((part, at) => part.startsWith('.') && !(at === 0 && part === settings));
}
