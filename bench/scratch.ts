import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Writes a file that other processes of this run read, and returns its path. */
export function scratchFile(name: string, text: string): string {
  const path = join(scratchFolder(), name);
  writeFileSync(path, text);
  return path;
}

/** Makes an empty folder for other processes of this run, and returns its path. */
export function scratchSubfolder(name: string): string {
  return mkdtempSync(join(scratchFolder(), `${name}-`));
}

let folder: string | undefined;

function scratchFolder(): string {
  if (folder !== undefined) return folder;
  const made = mkdtempSync(join(tmpdir(), 'toolcrib-bench-'));
  process.on('exit', () => rmSync(made, { recursive: true, force: true }));
  folder = made;
  return made;
}
