import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ToolcribError } from '../../base/errors.ts';
import { parseJson } from '../../base/parse-json.ts';
import { ask } from '../client/ask.ts';
import { complain } from '../complain.ts';
import { asProgram } from '../connect/greeting.ts';
import { loadDeployment } from '../deployment.ts';
import { clientFiles, clientNames, type ClientFile } from '../servers/client-files.ts';
import { printable } from '../table.ts';
import type { ClientEntry } from '../connect/client-shapes.ts';
import { entryFor, type Way } from './clients.ts';
import { findEntry, putEntry, takeEntry, type EntryIn } from './edit.ts';
import { backUp, noteLink, readLinks, type LinkedEntry } from './links.ts';
import { readUserFile, removeUserFile, requireWritable, writeUserFile, type UserFile } from './user-file.ts';

/** Options of `toolcrib link`. */
export interface LinkFlags {
  readonly config: string;
  readonly name?: string;
  readonly file?: string;
  readonly url?: string;
  readonly keyVariable?: string;
  readonly print?: boolean;
  readonly yes?: boolean;
}

/** Options of `toolcrib unlink`. */
export type UnlinkFlags = Pick<LinkFlags, 'name' | 'file' | 'print'>;

/** `toolcrib link`: writes the entry for this Toolcrib into the file of a client, and nothing else. */
export async function link(clientName: string | undefined, flags: LinkFlags): Promise<void> {
  const { name, way, isNobody = false } = await readWay(flags);
  if (flags.print) return printEntries(clientName, name, way);
  if (clientName === undefined)
    throw new ToolcribError('invalid_setup', `Name a client: ${clientNames.join(', ')}; or use --print.`);
  const client = clientOf(clientName, flags.file);
  const entry = entryFor(client, way);
  const place = { ...client, name };
  const file = await readUserFile(client.file);
  requireWritable(file);
  await confirmPlace(client, file, flags);
  const known = await knownLink(file.file, name);
  const text = file.text ?? '';
  if (known && isDeepStrictEqual(findOrRefuse(client, text, place), plain(entry))) {
    process.stdout.write(`${client.title} has the entry "${printable(name)}" already.\n`);
    return;
  }
  const base = known ? within(client, () => takeEntry(text, place, known.insertions)) : text;
  const edited = within(client, () => putEntry(base, place, entry));
  const backup = file.text === undefined ? undefined : await backUp(client.name, file.text, new Date());
  // Fails before anything is written that could not be remembered.
  await noteLink({ file: file.file, name }, known);
  const linked: LinkedEntry = {
    client: client.name,
    file: file.file,
    name,
    at: Date.now(),
    insertions: edited.insertions,
    digest: digestOf(edited.text),
    isNewFile: known?.isNewFile ?? file.text === undefined,
  };
  await writeUserFile(file, edited.text);
  await noteLink(linked, linked);
  process.stdout.write(linkedText(client, name, backup));
  if (isNobody) complain(NOBODY);
}

/** `toolcrib unlink`: takes the entry out again; a file that nobody changed since is as it was before. */
export async function unlink(clientName: string, flags: UnlinkFlags): Promise<void> {
  const client = clientOf(clientName, flags.file);
  const file = await readUserFile(client.file);
  const links = (await readLinks()).filter(
    (one) => one.file === file.file && (flags.name === undefined || one.name === flags.name),
  );
  if (links.length === 0)
    throw new ToolcribError(
      'invalid_setup',
      `Toolcrib wrote nothing into ${client.file}${flags.name === undefined ? '' : ` under "${printable(flags.name)}"`}, so nothing is changed.`,
    );
  if (!flags.print) requireWritable(file);
  let current = file;
  // The newest first, so that each finds the text as it left it.
  for (const linked of links.toReversed()) {
    const next = withoutLink(client, current, linked);
    if (flags.print) process.stdout.write(plannedText(client, linked, { before: current, after: next }));
    else await writeWithout(linked, { before: current, after: next });
    current = next;
  }
  if (flags.print) return;
  const names = links.map(({ name }) => `"${printable(name)}"`).join(', ');
  process.stdout.write(`${client.title} no longer has ${names}; it notices with its next start.\n`);
}

interface Change {
  readonly before: UserFile;
  /** Without a text where the file is to be removed. */
  readonly after: UserFile;
}

function withoutLink(client: ClientFile, file: UserFile, linked: LinkedEntry): UserFile {
  const text = file.text ?? '';
  const place = { ...client, name: linked.name };
  if (findOrRefuse(client, text, place) === undefined) return file;
  const rest = within(client, () => takeEntry(text, place, linked.insertions));
  return { ...file, text: linked.isNewFile && digestOf(text) === linked.digest ? undefined : rest };
}

async function writeWithout(linked: LinkedEntry, { before, after }: Change): Promise<void> {
  if (before !== after && after.text === undefined) await removeUserFile(before);
  else if (before !== after) {
    await backUp(linked.client, before.text ?? '', new Date());
    await writeUserFile(before, after.text ?? '');
  }
  await noteLink(linked, undefined);
}

function plannedText({ title, file }: ClientFile, { name }: LinkedEntry, { before, after }: Change): string {
  const entry = `${title}, ${file}: "${printable(name)}"`;
  if (before === after) return `${entry} is not there any more; it would be forgotten.\n`;
  if (after.text === undefined) return `${entry} would be taken out, and the file removed with it.\n`;
  return `${entry} would be taken out, and nothing else changed.\n`;
}

const NOBODY =
  'Without a key this client is the caller "local", who has no roles; say --key-variable NAME, or name it in auth.stdio.';

interface Linked {
  readonly name: string;
  readonly way: Way;
  /** Whether the configuration has callers, and nothing says which of them the client is. */
  readonly isNobody?: boolean;
}

async function readWay({ config, name, url, keyVariable }: LinkFlags): Promise<Linked> {
  if (keyVariable !== undefined && !/^[A-Za-z_]\w*$/.test(keyVariable))
    throw new ToolcribError('invalid_setup', '--key-variable takes the name of an environment variable.');
  if (url !== undefined) {
    if (!/^https?:\/\//.test(url) || !URL.canParse(url))
      throw new ToolcribError(
        'invalid_setup',
        '--url takes an address that begins with http:// or https://.',
      );
    return { name: checkName(name ?? 'toolcrib'), way: { url, keyVariable } };
  }
  const loaded = await loadDeployment(config);
  const { command, args, name: own } = asProgram(loaded);
  const { auth } = loaded.config;
  const isNobody = auth !== undefined && auth.stdio === undefined && keyVariable === undefined;
  return { name: checkName(name ?? own), way: { command, args, keyVariable }, isNobody };
}

function checkName(name: string): string {
  if (/^[\w-]{1,64}$/.test(name) && name !== '__proto__') return name;
  throw new ToolcribError('invalid_setup', '--name takes up to 64 letters, digits, "_" and "-".');
}

function clientOf(name: string, file: string | undefined): ClientFile {
  const client = clientFiles().find((one) => one.name === name);
  if (!client)
    throw new ToolcribError(
      'invalid_setup',
      `"${printable(name).slice(0, 40)}" is not a known client; there are: ${clientNames.join(', ')}.`,
    );
  return file === undefined ? client : { ...client, file };
}

function printEntries(clientName: string | undefined, name: string, way: Way): void {
  const clients = clientName === undefined ? clientFiles() : [clientOf(clientName, undefined)];
  for (const client of clients) {
    try {
      const { text } = putEntry('', { ...client, name }, entryFor(client, way));
      process.stdout.write(`${client.title}, ${client.file}:\n${text}\n`);
    } catch (error) {
      if (!(error instanceof ToolcribError) || clientName !== undefined) throw error;
      process.stdout.write(`${error.message}\n\n`);
    }
  }
}

// Another user may have put the link there to have another file written.
async function confirmPlace(client: ClientFile, file: UserFile, { yes }: LinkFlags): Promise<void> {
  if (!file.isElsewhere || yes) return;
  const answer = await ask(
    `${client.file} leads to ${printable(file.file)}, outside of your home. Write there? [y/N] `,
  );
  if (answer !== undefined && /^y(?:es)?$/i.test(answer.trim())) return;
  throw new ToolcribError(
    'invalid_setup',
    `${client.file} leads to ${printable(file.file)}, outside of your home; say --yes to write there.`,
  );
}

async function knownLink(file: string, name: string): Promise<LinkedEntry | undefined> {
  return (await readLinks()).find((one) => one.file === file && one.name === name);
}

function findOrRefuse(client: ClientFile, text: string, place: EntryIn): unknown {
  return within(client, () => plain(findEntry(text, place)));
}

// Says which file it is about.
function within<T>({ file }: ClientFile, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    throw new ToolcribError(error.code, `${file} stays as it is: ${error.message}.`, { cause: error });
  }
}

function plain(value: unknown): ClientEntry | undefined {
  return value === undefined ? undefined : (parseJson(JSON.stringify(value)) as ClientEntry);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function linkedText(
  { title, file, name: client }: ClientFile,
  name: string,
  backup: string | undefined,
): string {
  const lines = [`${title} has "${printable(name)}" now, in ${file}; it notices with its next start.`];
  if (backup !== undefined) lines.push(`What the file was before is in ${backup}.`);
  lines.push(`To take it out again: toolcrib unlink ${client}`);
  return `${lines.join('\n')}\n`;
}
