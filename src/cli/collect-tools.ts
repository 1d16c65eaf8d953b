import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { localCaller } from '../core/caller.ts';
import { ToolcribError } from '../base/errors.ts';
import { isDeeperThan, isObject } from '../base/json.ts';
import { parseJson } from '../base/parse-json.ts';
import { ToolRegistry } from '../core/registry.ts';
import { withStages } from '../core/stage.ts';
import { describeTool, type ListedTool } from '../core/tool.ts';
import { loadConfig, type LoadedConfig } from '../gateway/settings/load-config.ts';
import { importCheck } from '../gateway/modules/import-reach.ts';
import { createModuleTools, type ModuleTools, type ModuleToolsOptions } from '../gateway/modules/tools.ts';
import { createReadyTools } from '../gateway/ready-tools.ts';
import { approve } from '../stages/approve/approve.ts';
import type { ServerFlags } from './client/target.ts';
import { concealInComplaints } from './complain.ts';
import { DEFAULT_CONFIG } from './default-file.ts';

/** Tools as they would be listed, and why others could not be read. */
export interface CollectedTools {
  readonly tools: readonly ListedTool[];
  /** One line for each file that cannot be used. */
  readonly problems: readonly string[];
}

/**
 * Reads the tools of modules, of configurations (.yaml) and of saved `tools/list` responses (.json); of toolcrib.yaml
 * unless files are named.
 */
export async function collectTools(
  files: readonly string[],
  flags: CollectFlags = {},
): Promise<CollectedTools> {
  const { config, server = [] } = flags;
  if (server.length > 0) return fromServer(undefined, server, flags);
  const named = [...files, ...(config === undefined ? [] : [config])];
  if (named.length === 0 && !existsSync(DEFAULT_CONFIG))
    throw new ToolcribError(
      'invalid_setup',
      `There is no ${DEFAULT_CONFIG} here: name files with tools, or a configuration with --config FILE.`,
    );
  const all = named.length === 0 ? [DEFAULT_CONFIG] : named;
  const kindOf = (file: string): 'config' | 'list' | 'module' | 'server' => {
    if (isServer(file)) return 'server';
    if (file === config || /\.ya?ml$/.test(file)) return 'config';
    return file.endsWith('.json') ? 'list' : 'module';
  };
  const modules = all.filter((file) => kindOf(file) === 'module');
  const collected = [modules.length > 0 ? await fromModules(modules) : { tools: [], problems: [] }];
  const readers = {
    server: (name: string) => fromServer(name, [], flags),
    config: fromConfig,
    list: fromList,
    module: (file: string) => fromModules([file]),
  };
  for (const file of all.filter((one) => kindOf(one) !== 'module'))
    collected.push(await readers[kindOf(file)](file));
  return {
    tools: collected.flatMap(({ tools }) => tools),
    problems: collected.flatMap(({ problems }) => problems),
  };
}

/** Options that say where tools are. */
export interface CollectFlags extends Omit<ServerFlags, 'json'> {
  readonly config?: string;
  /** The command of a local server. */
  readonly server?: readonly string[];
}

// An address, or a word that is no file: the name of a server.
function isServer(word: string): boolean {
  return /^https?:\/\//i.test(word) || (/^[\w-]+$/.test(word) && !existsSync(word));
}

async function fromServer(
  name: string | undefined,
  command: readonly string[],
  flags: ServerFlags,
): Promise<CollectedTools> {
  const { findTarget, openTarget } = await import('./client/target.ts');
  const target = await findTarget({ name, command, flags });
  try {
    const client = await openTarget(target, flags, {});
    try {
      return { tools: await client.listTools(), problems: [] };
    } finally {
      await client.close();
    }
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    const { explain } = await import('./client/with-client.ts');
    throw new ToolcribError(error.code, explain(error, name), { cause: error });
  }
}

async function fromModules(files: readonly string[]): Promise<CollectedTools> {
  const registry = new ToolRegistry({ maxNameLength: 128 });
  const { problems } = await loadModules(registry, { patterns: files, baseDir: process.cwd() });
  return {
    tools: registry.list().map(describeTool),
    problems: problems.map(({ file, reason, severity }) => {
      if (severity === 'error') return `${file}: ${reason}`;
      return `${file}: ${existsSync(resolve(file)) ? NOT_READ : 'There is no such file.'}`;
    }),
  };
}

const NOT_READ =
  'Tools are read from TypeScript and JavaScript (no tests, no declarations), configurations (.yaml) and tools/list answers (.json).';

async function fromConfig(file: string): Promise<CollectedTools> {
  const loaded = await loadConfig(file);
  concealInComplaints(loaded);
  return withConfiguredTools(loaded, async ({ registry, problems }) => {
    const asking = loaded.config.stages.approve;
    // Of all stages, only this one changes how a tool is listed, and for all callers alike.
    const isListed = asking !== false && asking.mode === 'argument';
    const listed = withStages(registry, isListed ? [approve(asking)] : []);
    return { tools: (await listed.list(localCaller)).map(describeTool), problems };
  });
}

/** The tools of a configuration, and one line for each file that cannot be used. */
export interface ConfiguredTools {
  readonly registry: ToolRegistry;
  readonly problems: readonly string[];
}

/** Loads the tools of a configuration, and closes them after use. */
export async function withConfiguredTools<T>(
  loaded: LoadedConfig,
  use: (tools: ConfiguredTools) => Promise<T>,
): Promise<T> {
  const registry = new ToolRegistry({ maxNameLength: 128 });
  const ready = await createReadyTools({ loaded, version: '', source: registry, log: () => {} });
  try {
    registry.registerTool(...ready.tools);
    const modules = await loadModules(registry, {
      patterns: loaded.config.tools.modules,
      baseDir: loaded.folder,
      checkImports: importCheck(loaded),
    });
    // `toolcrib check` reports patterns without a match.
    const problems = modules.problems
      .filter(({ severity }) => severity === 'error')
      .map((problem) => `${problem.file}: ${problem.reason}`);
    return await use({ registry, problems });
  } finally {
    await ready.close();
  }
}

async function loadModules(
  registry: ToolRegistry,
  from: Pick<ModuleToolsOptions, 'patterns' | 'baseDir' | 'checkImports'>,
): Promise<ModuleTools> {
  const modules = await createModuleTools({ ...from, registry, watch: false, log: () => {} });
  await modules.close();
  return modules;
}

async function fromList(file: string): Promise<CollectedTools> {
  const tools = listIn(await readJson(file));
  if (tools && !isDeeperThan(MAX_DEPTH, tools)) return { tools, problems: [] };
  return {
    tools: [],
    problems: [
      `${file}: ${tools ? `It is nested deeper than ${MAX_DEPTH} levels.` : 'It holds no tools: save what a server answers to tools/list there.'}`,
    ],
  };
}

const MAX_DEPTH = 256;

async function readJson(file: string): Promise<unknown> {
  try {
    return parseJson(await readFile(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new ToolcribError('invalid_setup', `${file} ${reason}; check the name and the content.`, {
      cause: error,
    });
  }
}

// An array, a result or a whole response: programs save any of these.
function listIn(value: unknown): readonly ListedTool[] | undefined {
  if (isObject(value)) return listIn(value['tools'] ?? value['result']);
  if (!Array.isArray(value) || !value.every((tool) => isObject(tool) && typeof tool['name'] === 'string'))
    return undefined;
  return value as ListedTool[];
}
