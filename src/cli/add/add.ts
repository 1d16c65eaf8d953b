import { readFile } from 'node:fs/promises';
import { statSync } from 'node:fs';
import { dirname, extname, isAbsolute, resolve } from 'node:path';
import { compileGlob } from '../../base/glob.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { ListedTool } from '../../core/tool.ts';
import { scanDefinition } from '../../stages/pin/scan.ts';
import { ask } from '../client/ask.ts';
import { firstLine } from '../client/readable.ts';
import { networkOf, openTarget } from '../client/target.ts';
import { reportFailure } from '../client/with-client.ts';
import { concealInComplaints } from '../complain.ts';
import { RELAYABLE } from '../../client/relay/capabilities.ts';
import { readEntry } from '../../config/foreign-entry.ts';
import { projectFolder, readWrittenServers, serverFiles } from '../servers/files.ts';
import { formatTable, printable } from '../table.ts';
import { checkProposal, describeProposal, namesIn, readConfigFile, writeServers } from './config-file.ts';
import { fromForeign } from './foreign-entry.ts';
import { isRelative, literal, nameFrom, readCommand, type Proposal } from './new-entry.ts';
import { fromRegistry } from './registry-entry.ts';

/** Options of `toolcrib add`. */
export interface AddFlags {
  readonly config: string;
  readonly name?: string;
  readonly tools?: string;
  readonly try: boolean;
  readonly print?: boolean;
  readonly yes?: boolean;
}

/** `toolcrib add`: shows what a server offers, and writes it into the configuration. */
export async function add(
  target: string | undefined,
  command: readonly string[],
  flags: AddFlags,
): Promise<void> {
  const found = command.length > 0 ? fromCommand(command) : await fromTarget(target);
  const tools = flags.tools
    ?.split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '');
  const proposal: Proposal = {
    ...found,
    name: flags.name ?? found.name,
    entry: { ...found.entry, ...(tools && { tools }) },
  };
  checkProposal(proposal);
  const file = await readConfigFile(resolve(flags.config));
  if (namesIn(file).includes(proposal.name))
    throw new ToolcribError(
      'invalid_setup',
      `${flags.config} has a server "${proposal.name}" already; choose another with --name.`,
    );
  process.stdout.write(describeProposal(proposal));
  if (flags.print) return;
  // Starting it is running its code, so that needs a yes as well.
  if (!(await agrees(proposal, flags))) {
    process.stdout.write('Nothing was added.\n');
    return;
  }
  if (flags.try && !(await showTools(proposal, flags, tools))) return;
  await writeServers(file, [proposal]);
  process.stdout.write(`"${proposal.name}" is in ${flags.config} now.\n`);
}

async function agrees(proposal: Proposal, { yes, try: isTried }: AddFlags): Promise<boolean> {
  if (yes) return true;
  const isStarted = isTried && 'command' in proposal.entry;
  const answer = await ask(`${isStarted ? 'Start it, and add' : 'Add'} "${proposal.name}"? [y/N] `);
  if (answer !== undefined) return /^y(?:es)?$/i.test(answer.trim());
  throw new ToolcribError(
    'invalid_setup',
    'Nobody can be asked whether that is all right; say so with --yes.',
  );
}

// The tools that will be offered, and the suspicious parts of their definitions.
async function showTools(
  proposal: Proposal,
  flags: AddFlags,
  patterns: readonly string[] | undefined,
): Promise<boolean> {
  const folder = dirname(resolve(flags.config));
  const { target, problem, secrets } = readEntry({ entry: { ...proposal.entry }, folder, readsFiles: true });
  concealInComplaints({ secrets });
  if (!target) {
    process.stdout.write(`It cannot be tried yet. ${problem ?? ''}\n`);
    return true;
  }
  try {
    // As the gateway declares it, so that both are listed the same.
    const client = await openTarget(target, {}, { capabilities: RELAYABLE });
    try {
      const tools = await client.listTools();
      process.stdout.write(toolTable(tools, patterns) + unmatched(tools, patterns ?? []));
    } finally {
      await client.close();
    }
    return true;
  } catch (error) {
    reportFailure(error, {});
    process.stdout.write('Nothing was added; --no-try adds it all the same.\n');
    return false;
  }
}

function toolTable(tools: readonly ListedTool[], patterns: readonly string[] | undefined): string {
  const matches = patterns?.map(compileGlob);
  const isUsed = (name: string): boolean => matches?.some((match) => match(name)) ?? true;
  const names = tools.map(({ name }) => name);
  const rows = tools.map((tool) => {
    const kinds = new Set(scanDefinition(JSON.stringify(tool), names).map(({ kind }) => kind));
    const text = firstLine(tool.description.replaceAll(/\s+/g, ' '), 80);
    return [tool.name, isUsed(tool.name) ? 'yes' : 'no', [...kinds].join(', ') || '-', text];
  });
  return formatTable(['TOOL', 'USED', 'LOOK AT', 'DOES'], rows, 'The server has no tools.');
}

function unmatched(tools: readonly ListedTool[], patterns: readonly string[]): string {
  return patterns
    .filter((pattern) => !tools.some(({ name }) => compileGlob(pattern)(name)))
    .map((pattern) => `Warning: No tool matches "${printable(pattern)}" of --tools.\n`)
    .join('');
}

function fromCommand(words: readonly string[]): Proposal {
  const [command = '', ...args] = words.map(fromHere).map(literal);
  return {
    ...readCommand(words),
    entry: { command, ...(args.length > 0 && { args }) },
    variables: [],
  };
}

// The gateway starts programs in folders of their own, where relative paths from here would not be found.
function fromHere(word: string): string {
  const isNamed = isRelative(word) || (extname(word) !== '' && !isAbsolute(word) && isFile(word));
  return isNamed ? resolve(word) : word;
}

// A word may be anything, such as a script that is too long for a name.
function isFile(word: string): boolean {
  try {
    return statSync(word).isFile();
  } catch {
    return false;
  }
}

async function fromTarget(target: string | undefined): Promise<Proposal> {
  if (target === undefined)
    throw new ToolcribError(
      'invalid_setup',
      'Say which server: its address, its server.json, its name in a file of another client, or its command after "--".',
    );
  const isAddress = /^https?:\/\//i.test(target);
  if (/\.json$/i.test(isAddress ? new URL(target).pathname : target))
    return fromRegistry(await readDescription(target, isAddress));
  if (isAddress) {
    return {
      name: nameOfAddress(new URL(target)),
      entry: { url: literal(target) },
      variables: [],
      warnings: [],
    };
  }
  return fromClients(target);
}

function nameOfAddress({ hostname, port }: URL): string {
  if (isLoopback(hostname)) return nameFrom(`local ${port}`);
  if (/^[\d.]+$|^\[/.test(hostname)) return nameFrom(hostname);
  return nameFrom(hostname.split('.').find((one) => !/^(?:www|mcp|api)$/.test(one)) ?? hostname);
}

async function fromClients(name: string): Promise<Proposal> {
  for (const { file, owner } of serverFiles().filter((one) => !/\.ya?ml$/.test(one.file))) {
    const written = (await readWrittenServers(file)).find((one) => one.name === name);
    const folder = owner === 'project' ? projectFolder(file) : undefined;
    const made = written && fromForeign({ ...written, file, folder });
    if (!made) continue;
    // Who names it wants it, also if it is switched off there.
    const { disabled: _disabled, ...entry } = made.entry;
    return { ...made, entry, name: nameFrom(name) };
  }
  throw new ToolcribError(
    'invalid_setup',
    `No file of another client names a server "${printable(name).slice(0, 80)}"; toolcrib servers lists what was found.`,
  );
}

const FETCH_MS = 15_000;
const MAX_BYTES = 1_048_576;

async function readDescription(place: string, isAddress: boolean): Promise<unknown> {
  let text: string;
  try {
    text = isAddress ? await fetchText(place) : await readFile(place, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT'
        ? `There is no file ${place}; name a server.json, or a server by its address or name.`
        : `${place} cannot be read: ${message}`;
    throw new ToolcribError('invalid_setup', why, { cause });
  }
  try {
    return parseJson(text);
  } catch (cause) {
    throw new ToolcribError(
      'invalid_setup',
      `${place} is not JSON; name a server.json, or an address that leads to one.`,
      { cause },
    );
  }
}

// Compressed data is never unpacked, and no redirect is followed.
async function fetchText(url: string): Promise<string> {
  const { createOutboundClient } = await import('../../net/create-outbound-client.ts');
  const client = createOutboundClient({
    hosts: [],
    trustedOrigins: [new URL(url).origin],
    timeoutMs: FETCH_MS,
    maxBytes: MAX_BYTES,
    ...networkOf({}),
  });
  const { status, body, isCut } = await client.request(url, { headers: { accept: 'application/json' } });
  if (status !== 200) throw new Error(`the server answers ${status}`);
  if (isCut) throw new Error('it is too large');
  return Buffer.from(body).toString('utf8');
}
