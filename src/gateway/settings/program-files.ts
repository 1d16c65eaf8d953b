import { basename, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { UpstreamEntry } from '../../config/servers.ts';
import { lookAt } from '../modules/real-place.ts';
import { findProgram, type LocalEntry } from '../upstreams/command-line.ts';
import type { Config } from './config.ts';
import { protectedFile, protectedFolder, type Protected } from './reach.ts';

/** The files and folders that decide what the programs of `mcpServers` run. */
export function programFiles({ mcpServers = {} }: Pick<Config, 'mcpServers'>): Protected[] {
  return Object.entries(mcpServers).flatMap(([name, entry]) =>
    isStarted(entry) ? filesOf(`mcpServers.${name}`, entry) : [],
  );
}

function isStarted(entry: UpstreamEntry): entry is LocalEntry {
  return 'command' in entry && !entry.disabled;
}

function filesOf(at: string, entry: LocalEntry): Protected[] {
  const { command, sandbox, cwd, env } = entry;
  return [
    ...sandbox.slice(0, 1).flatMap((word) => programFile(`${at}.sandbox[0]`, word)),
    ...programFile(`${at}.command`, command),
    // Programs load what they find there, under names of their own.
    ...(cwd === undefined
      ? []
      : [protectedFile({ file: join(cwd, 'any'), what: `the folder that a program runs in (${at}.cwd)` })]),
    ...scriptFiles(at, entry),
    ...Object.entries(env).flatMap(([name, value]) => variableFiles(`${at}.env.${name}`, name, value)),
  ];
}

function programFile(at: string, word: string): Protected[] {
  const file = findProgram(word) ?? (isAbsolute(word) ? word : undefined);
  return file === undefined ? [] : [protectedFile({ file, what: `a program (${at})` })];
}

/** A program, what it is started with, and the folder it runs in. */
interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
}

// These run a file in the folder that they are started with.
const RUNS_FOLDERS = /^(node|bun|python|pypy)[\d.]*$/;

/** The files that a program is started with, each named by its place in the configuration. */
export function scriptFiles(at: string, { command, args, cwd }: Started): Protected[] {
  return args.flatMap((word, index) => {
    const what = `what a program is started with (${at}.args[${index}])`;
    const mayRunFolder = index === 0 && RUNS_FOLDERS.test(basename(command));
    return pathsIn(word, cwd).flatMap((file): Protected[] => {
      if (!lookAt(file)?.isDirectory()) return [protectedFile({ file, what })];
      // Any other folder is mostly data that callers may share with the program.
      return mayRunFolder ? [protectedFolder({ file, what })] : [];
    });
  });
}

const CODE_VARIABLE =
  /^(PATH|NODE_OPTIONS|NODE_PATH|PYTHONPATH|PYTHONHOME|PYTHONSTARTUP|LD_.+|PERL5LIB|RUBYLIB|CLASSPATH)$/;

function variableFiles(at: string, name: string, value: string): Protected[] {
  if (!CODE_VARIABLE.test(name)) return [];
  const files = value.split(/[\s:=]+/).filter(isAbsolute);
  return files.map((file) => protectedFolder({ file, what: `what a program loads (${at})` }));
}

const LOOKS_LIKE_FILE = /\/|\.(?:[cm]?[jt]sx?|py|sh|rb|pl|php|lua|jar|dll|wasm)$/;

// As they stand, behind the `=` of a flag, and in lists; without `cwd` a program starts in an empty folder.
function pathsIn(word: string, cwd: string | undefined): string[] {
  const value = word.startsWith('-') ? word.slice(word.indexOf('=') + 1) : word;
  const texts = value.startsWith('file:') ? [pathOf(value)] : value.split(':');
  return texts.flatMap((text) => {
    if (text === undefined || !LOOKS_LIKE_FILE.test(text) || text.startsWith('-')) return [];
    if (isAbsolute(text)) return [text];
    return cwd === undefined ? [] : [resolve(cwd, text)];
  });
}

function pathOf(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}
