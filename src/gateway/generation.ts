import { ToolRegistry } from '../core/registry.ts';
import { withStages } from '../core/stage.ts';
import type { ToolSource } from '../core/source.ts';
import { createAccess, type Access } from '../stages/authorize.ts';
import { pingTool } from '../tools/ping.ts';
import { serverInfoTool } from '../tools/server-info.ts';
import { complaintError } from './complaint.ts';
import type { Lasting } from './lasting.ts';
import { createLine, type Line } from './line.ts';
import type { LoadedConfig } from './load-config.ts';
import type { ModuleTools } from './module-tools.ts';
import { createAuthentication, type Authentication } from './authentication.ts';

/** Everything that follows from one reading of the configuration; replaced as a whole. */
export interface Generation {
  readonly loaded: LoadedConfig;
  readonly registry: ToolRegistry;
  readonly line: Line;
  /** The tools behind the stages. */
  readonly source: ToolSource;
  readonly authentication: Authentication | undefined;
  close(): Promise<void>;
}

/** What a generation is made in. */
export interface GenerationOptions {
  readonly lasting: Lasting;
  readonly version: string;
  /** Whether files are watched for changes. */
  readonly watch: boolean;
  /** The generation before, whose sign-in goes on if nothing about it changed. */
  readonly before?: Generation | undefined;
}

/** Makes a generation; one that cannot be put to use is refused as a whole. */
export async function createGeneration(
  loaded: LoadedConfig,
  options: GenerationOptions,
): Promise<Generation> {
  const { lasting, version, watch, before } = options;
  const { config } = loaded;
  const registry = new ToolRegistry({ maxNameLength: 128 });
  let behind: ToolSource = registry;
  addReady(registry, { loaded, version, source: { list: (caller) => behind.list(caller) } });
  const modules = await loadModules(loaded, registry, { lasting, watch });
  try {
    const access = await createRules(loaded, registry);
    const isSame = before && JSON.stringify(before.loaded.config.auth) === JSON.stringify(config.auth);
    const authentication = isSame ? before.authentication : await createAuthentication(config, lasting);
    // Last, because it changes what lasts.
    const line = await createLine(config, lasting, access);
    behind = withStages(registry, line.stages);
    return {
      loaded,
      registry,
      line,
      source: behind,
      authentication,
      close: async () => modules?.close(),
    };
  } catch (error) {
    await modules?.close();
    throw error;
  }
}

interface ReadyOptions {
  readonly loaded: LoadedConfig;
  readonly version: string;
  /** What callers see. */
  readonly source: Pick<ToolSource, 'list'>;
}

function addReady(registry: ToolRegistry, { loaded: { config }, version, source }: ReadyOptions): void {
  const { ready } = config.tools;
  if (ready.ping) registry.registerTool(pingTool());
  if (ready.server_info) registry.registerTool(serverInfoTool({ name: config.server.name, version, source }));
}

async function loadModules(
  { config, folder }: LoadedConfig,
  registry: ToolRegistry,
  { lasting, watch }: Pick<GenerationOptions, 'lasting' | 'watch'>,
): Promise<ModuleTools | undefined> {
  if (config.tools.modules.length === 0) return undefined;
  const { createModuleTools } = await import('./module-tools.ts');
  return createModuleTools({
    patterns: config.tools.modules,
    baseDir: folder,
    registry,
    watch,
    log: lasting.log,
  });
}

// Without rules and without sign-in, everything is allowed to this machine.
async function createRules(
  { config, complain }: LoadedConfig,
  registry: ToolRegistry,
): Promise<Access | undefined> {
  if (!config.access && !config.auth) return undefined;
  const access = await createAccess(config.access ?? []);
  const wrong = access.check(registry.list()).filter(({ severity }) => severity === 'error');
  if (wrong.length === 0) return access;
  throw complaintError(
    wrong.map(({ rule, path, message, remedy }) =>
      complain(['access', rule, ...path], { message, remedy, severity: 'error' }),
    ),
  );
}
