import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { settingsFolder } from '../servers/places.ts';
import type { Insertion } from './splice.ts';
import { notWritten } from './user-file.ts';

/** The text that was inserted into a file of a client. */
export interface LinkedEntry {
  readonly client: string;
  /** The file itself, links followed. */
  readonly file: string;
  /** The name of the entry. */
  readonly name: string;
  /** When, in milliseconds since 1970. */
  readonly at: number;
  readonly insertions: readonly Insertion[];
  /** The hash of the file after that. */
  readonly digest: string;
  /** Whether there was no such file before. */
  readonly isNewFile: boolean;
}

/** Everything that was put into files of clients and not taken out since. */
export async function readLinks(): Promise<readonly LinkedEntry[]> {
  const file = linksFile();
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '{"links":[]}';
    throw new ToolcribError('invalid_setup', `${file} cannot be read (${code}).`, { cause });
  });
  const content = tryParse(text);
  const links = isObject(content) ? content['links'] : undefined;
  if (!Array.isArray(links))
    throw new ToolcribError('invalid_setup', `${file} is damaged; restore it, or move it away.`);
  return links as readonly LinkedEntry[];
}

/** Replaces the stored facts about one entry; `undefined` forgets them. */
export async function noteLink(
  about: Pick<LinkedEntry, 'file' | 'name'>,
  linked: LinkedEntry | undefined,
): Promise<void> {
  const others = (await readLinks()).filter(({ file, name }) => file !== about.file || name !== about.name);
  await keep(
    linksFile(),
    `${JSON.stringify({ links: linked ? [...others, linked] : others }, undefined, 2)}\n`,
  );
}

/** Keeps the text of a file before it is changed; returns where. */
export async function backUp(client: string, text: string, now: Date): Promise<string> {
  const stamp = now.toISOString().replaceAll(/[:.]/g, '-');
  const file = join(dirname(linksFile()), 'backups', `${client}-${stamp}`);
  await keep(file, text);
  return file;
}

// The files of clients often hold secrets.
async function keep(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600 });
  } catch (error) {
    throw notWritten(file, error);
  }
}

function linksFile(): string {
  return join(settingsFolder(), 'toolcrib/links.json');
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
