import { ToolRegistry } from '../core/registry.ts';
import { withStages } from '../core/stage.ts';
import type { ToolSource } from '../core/source.ts';
import type { Tool } from '../core/tool.ts';
import { createAccess, type Access } from '../stages/access/authorize.ts';
import type { OnToolCall } from '../stages/approve/decision.ts';
import { complaintError, formatComplaint, formatPath } from '../config/complaint.ts';
import type { AskedAgentsParts } from './agents/asked-agents.ts';
import { unmatchedTools } from './settings/agent-conflicts.ts';
import type { Lasting } from './lasting.ts';
import { createStandardStages, type StandardStages } from './standard-stages.ts';
import type { LoadedConfig } from './settings/load-config.ts';
import type { ModuleTools } from './modules/tools.ts';
import type { SkillFolders } from './skill-folders.ts';
import { createReadyTools } from './ready-tools.ts';
import type { ServedUpstreams } from './upstreams/upstreams.ts';
import { createAuthentication, type Authentication } from './authentication.ts';

/** Everything made from one reading of the configuration; replaced as a whole. */
export interface Generation {
  readonly loaded: LoadedConfig;
  readonly registry: ToolRegistry;
  readonly stages: StandardStages;
  /** The tools from files, if any are configured. */
  readonly modules: ModuleTools | undefined;
  /** The skills from folders, if any are configured. */
  readonly skills: SkillFolders | undefined;
  /** The tools behind the stages. */
  readonly source: ToolSource;
  readonly authentication: Authentication | undefined;
  /** Stops watching files; calls continue. */
  stopWatching(): Promise<unknown>;
  /** Releases everything its tools hold; later calls fail. */
  close(): Promise<void>;
}

/** What a generation is made with. */
export interface GenerationOptions {
  readonly lasting: Lasting;
  readonly version: string;
  /** Whether files are watched for changes. */
  readonly watch: boolean;
  /** Asks a person about calls, where `stages.approve.mode` is `person`. */
  readonly onToolCall?: OnToolCall | undefined;
  /** The previous generation: its sign-in is kept if unchanged, and so are the tools of files that are now broken. */
  readonly before?: Generation | undefined;
  /** Aborted when the server stops; then the generation is refused. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes a generation; one that cannot be used is refused as a whole. */
export async function createGeneration(
  loaded: LoadedConfig,
  options: GenerationOptions,
): Promise<Generation> {
  const { lasting, version, watch, before, signal } = options;
  const { config } = loaded;
  const registry = new ToolRegistry({
    maxNameLength: 128,
    annotationDefaults: config.tools.annotationDefaults,
  });
  let behind: ToolSource = registry;
  const source: ToolSource = {
    list: (caller) => behind.list(caller),
    find: (name, caller) => behind.find(name, caller),
    call: (call) => behind.call(call),
    get resources() {
      return behind.resources;
    },
    get prompts() {
      return behind.prompts;
    },
  };
  const ready = await createReadyTools({ loaded, version, source, log: lasting.log });
  let modules: ModuleTools | undefined;
  let skills: SkillFolders | undefined;
  let upstreams: ServedUpstreams | undefined;
  let authentication: Authentication | undefined;
  const stopWatching = (): Promise<unknown> => Promise.all([modules?.close(), skills?.close()]);
  const close = async (): Promise<void> => {
    upstreams?.release();
    await Promise.all([stopWatching(), ready.close()]);
  };
  try {
    registry.registerTool(...ready.tools);
    modules = await loadModules(loaded, registry, { lasting, watch, before, signal });
    skills = await loadSkills(loaded, registry, { lasting, watch, before });
    let everything: ToolSource = registry;
    const own = await withAgents(loaded, registry, { lasting, source, everything: () => everything });
    const access = await createRules(loaded, registry);
    const isSame = before && JSON.stringify(before.loaded.config.auth) === JSON.stringify(config.auth);
    authentication = isSame
      ? before.authentication
      : await createAuthentication(config, { ...lasting, identities: lasting.store.identities });
    signal?.throwIfAborted();
    if (config.mcpServers) upstreams = (await lasting.upstreams()).serve(config, own, version);
    everything = upstreams?.source ?? own;
    // Last, because it changes state that outlives generations.
    const stages = await createStandardStages(config, lasting, {
      access,
      onToolCall: options.onToolCall,
      toolsOf: async (server, caller) => ofServer(server, await behind.list(caller)),
    });
    behind = withStages(everything, stages.inOrder);
    return { loaded, registry, stages, modules, skills, source: behind, authentication, stopWatching, close };
  } catch (error) {
    if (authentication !== before?.authentication) authentication?.signIn.close();
    await close();
    throw error;
  }
}

function ofServer(server: string | undefined, tools: readonly Tool[]): readonly Tool[] {
  return tools.filter(({ place }) => place?.source === server);
}

// Only agents that callers may ask cost anything here.
async function withAgents(
  loaded: LoadedConfig,
  registry: ToolRegistry,
  parts: Omit<AskedAgentsParts, 'config'> & { readonly lasting: Lasting },
): Promise<ToolSource> {
  const { config } = loaded;
  for (const { path, message } of unmatchedTools(config, registry.getToolNames()))
    parts.lasting.log('warn', `${formatPath(path)} ${message}.`);
  if (!Object.values(config.agents ?? {}).some(({ serve }) => serve !== false)) return registry;
  const [{ serveAgents }, { modelComplaints, modelKeys }] = await Promise.all([
    import('./agents/served-agents.ts'),
    import('./agents/agent-models.ts'),
  ]);
  for (const key of modelKeys(loaded)) parts.lasting.live.add(key);
  const complaints = modelComplaints(loaded);
  const errors = complaints.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw complaintError(errors);
  for (const complaint of complaints) parts.lasting.log('warn', formatComplaint(complaint));
  return serveAgents(loaded, registry, parts);
}

async function loadModules(
  loaded: LoadedConfig,
  registry: ToolRegistry,
  { lasting, watch, before, signal }: Pick<GenerationOptions, 'lasting' | 'watch' | 'before' | 'signal'>,
): Promise<ModuleTools | undefined> {
  const patterns = loaded.config.tools.modules;
  if (patterns.length === 0) return undefined;
  const [{ createModuleTools }, { importCheck, reachComplaints }] = await Promise.all([
    import('./modules/tools.ts'),
    import('./modules/import-reach.ts'),
  ]);
  const modules = await createModuleTools({
    patterns,
    baseDir: loaded.folder,
    registry,
    watch,
    log: lasting.log,
    checkImports: importCheck(loaded),
    before: before?.modules,
    signal,
  });
  const complaints = reachComplaints(loaded, modules.problems);
  if (complaints.length === 0) return modules;
  await modules.close();
  throw complaintError(complaints);
}

async function loadSkills(
  { config, folder }: LoadedConfig,
  registry: ToolRegistry,
  { lasting, watch, before }: Pick<GenerationOptions, 'lasting' | 'watch' | 'before'>,
): Promise<SkillFolders | undefined> {
  const folders = [config.skills].flat();
  if (folders.length === 0) return undefined;
  const { createSkillFolders } = await import('./skill-folders.ts');
  const { log } = lasting;
  return createSkillFolders({ folders, baseDir: folder, registry, watch, log, before: before?.skills });
}

// Without rules and without sign-in, local callers may use everything.
async function createRules(
  { config, complain }: LoadedConfig,
  registry: ToolRegistry,
): Promise<Access | undefined> {
  if (!config.access && !config.auth) return undefined;
  const access = await createAccess(config.access ?? []);
  const upstreams = Object.keys(config.mcpServers ?? {});
  const wrong = access.check(registry.list(), upstreams).filter(({ severity }) => severity === 'error');
  if (wrong.length === 0) return access;
  throw complaintError(
    wrong.map(({ rule, path, message, remedy }) =>
      complain(['access', rule, ...path], { message, remedy, severity: 'error' }),
    ),
  );
}
