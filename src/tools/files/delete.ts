import { rmdir, unlink } from 'node:fs/promises';
import { lookUp, withFolder, type HeldEntry } from './jail.ts';
import { JailRefusal } from './jail-refusal.ts';
import { HARD_LINKED, typeNotAllowed } from './failure.ts';
import { isAllowedType, nameIn, type FileOperation, type FileOutcome } from './site.ts';
import { syncFolder } from './write.ts';
import { inTurn } from './folder-turns.ts';

/** Removes a file or an empty folder. */
export const remove: FileOperation = ({ path }, site) => {
  const { folder: place, name } = nameIn(path, site);
  const removeFrom = async (folder: HeldEntry): Promise<FileOutcome> => {
    const stats = await lookUp(folder, name);
    if (!stats?.isFile() && !stats?.isDirectory()) throw new JailRefusal('missing');
    const isFile = stats.isFile();
    if (isFile && !isAllowedType(name, site.settings)) return typeNotAllowed(site.settings);
    if (isFile && stats.nlink > 1) return HARD_LINKED;
    site.signal.throwIfAborted();
    await (isFile ? unlink : rmdir)(`${folder.path}/${name}`);
    await syncFolder(folder);
    return { path: name, type: isFile ? 'file' : 'directory', deleted: true };
  };
  return withFolder(place, (folder) => inTurn([folder], site.signal, () => removeFrom(folder)));
};
