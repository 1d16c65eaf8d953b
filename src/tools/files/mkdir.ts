import { mkdir as make } from 'node:fs/promises';
import { ALREADY_EXISTS } from './failure.ts';
import { inTurn } from './folder-turns.ts';
import { lookUp, withFolder, type HeldEntry } from './jail.ts';
import { nameIn, type FileOperation, type FileOutcome } from './site.ts';
import { syncFolder } from './write.ts';

/** Makes a folder in one that is there. */
export const mkdir: FileOperation = ({ path }, site) => {
  const { folder: place, name } = nameIn(path, site);
  const makeIn = async (folder: HeldEntry): Promise<FileOutcome> => {
    if (await lookUp(folder, name)) return ALREADY_EXISTS;
    site.signal.throwIfAborted();
    await make(`${folder.path}/${name}`);
    await syncFolder(folder);
    return { path: name, type: 'directory' };
  };
  return withFolder(place, (folder) => inTurn([folder], site.signal, () => makeIn(folder)));
};
