import type { AccessComplaint } from '../stages/access/check.ts';
import { ToolcribError } from '../base/errors.ts';
import { ToolRegistry } from '../core/registry.ts';
import { formatComplaint, type Complaint } from '../config/complaint.ts';
import { readConfig, type LoadedConfig } from '../gateway/settings/load-config.ts';
import { importCheck, reachComplaints } from '../gateway/modules/import-reach.ts';
import { createModuleTools } from '../gateway/modules/tools.ts';
import { unmatchedTools } from '../gateway/settings/agent-conflicts.ts';
import { placeProblems } from '../gateway/settings/place-problems.ts';
import { createReadyTools } from '../gateway/ready-tools.ts';
import { createAccess } from '../stages/access/authorize.ts';
import { concealInComplaints } from './complain.ts';
import { DEFAULT_CONFIG } from './default-file.ts';
import { standardOutput } from './output.ts';
import { formatJson, printableLines } from './table.ts';

/** Options of `toolcrib check`. */
export interface CheckFlags {
  readonly config?: string;
  readonly json?: boolean;
  /** Whether databases, issuers, hosts and other servers are tried, too. */
  readonly connect?: boolean;
}

/** `toolcrib check`: reads a configuration, loads its tools, and says what is wrong and where. */
export async function check(named: string | undefined, flags: CheckFlags): Promise<void> {
  const file = oneOf(named, flags.config);
  const { loaded, complaints } = await readConfig(file);
  if (loaded) concealInComplaints(loaded);
  const report = loaded ? await checkLoaded(loaded, flags).catch(unusable) : { complaints, summary: '' };
  const isGood = report.complaints.every(({ severity }) => severity === 'warning');
  if (flags.json) standardOutput().write(formatJson({ ok: isGood, file, ...report }, 2));
  else standardOutput().write(forPeople(file, report));
  if (!isGood) process.exitCode = 1;
}

function oneOf(named: string | undefined, flagged: string | undefined): string {
  if (named !== undefined && flagged !== undefined)
    throw new ToolcribError('invalid_setup', `check takes one configuration: ${named} or ${flagged}.`);
  return named ?? flagged ?? DEFAULT_CONFIG;
}

interface Report {
  readonly complaints: readonly Complaint[];
  readonly summary: string;
}

// A ready-made tool that cannot be made is reported like any other mistake in the file.
function unusable(error: unknown): Report {
  if (!(error instanceof ToolcribError) || error.code !== 'invalid_config') throw error;
  return { complaints: (error.data as { complaints: readonly Complaint[] }).complaints, summary: '' };
}

async function checkLoaded(loaded: LoadedConfig, { connect }: CheckFlags): Promise<Report> {
  const { config, folder, problems } = loaded;
  const registry = new ToolRegistry({ maxNameLength: 128 });
  const ready = await createReadyTools({ loaded, version: '', source: registry, log: () => {} });
  try {
    registry.registerTool(...ready.tools);
    const modules = await createModuleTools({
      patterns: config.tools.modules,
      baseDir: folder,
      log: () => {},
      registry,
      watch: false,
      checkImports: importCheck(loaded),
    });
    await modules.close();
    const skills = await checkSkills(loaded, registry);
    const access = config.access && (await createAccess(config.access));
    const agents = config.agents ? await agentComplaints(loaded, registry) : [];
    const complaints = [
      ...problems,
      ...placeProblems(loaded),
      ...aboutPerson(loaded),
      ...ready.warnings,
      ...reachComplaints(loaded, modules.problems),
      ...modules.problems
        .filter(({ conflicts }) => !conflicts)
        .map((problem) => aboutModule(loaded, problem)),
      ...skills,
      ...(access?.check(registry.list(), Object.keys(config.mcpServers ?? {})) ?? []).map((complaint) =>
        aboutRule(loaded, complaint),
      ),
      ...agents,
      ...(connect ? await connections(loaded) : []),
    ];
    return { complaints, summary: summaryOf(registry, modules.files.length, config) };
  } finally {
    await ready.close();
  }
}

// Rules may name the tools by which agents are asked.
async function agentComplaints(loaded: LoadedConfig, registry: ToolRegistry): Promise<Complaint[]> {
  const [{ modelComplaints }, { registerAskTools }] = await Promise.all([
    import('../gateway/agents/agent-models.ts'),
    import('../gateway/agents/served-agents.ts'),
  ]);
  const unmatched = unmatchedTools(loaded.config, registry.getToolNames());
  registerAskTools(loaded, registry);
  return [...unmatched.map((one) => loaded.complain(one.path, one)), ...modelComplaints(loaded)];
}

async function checkSkills(
  { config, folder }: LoadedConfig,
  registry: ToolRegistry,
): Promise<readonly Complaint[]> {
  const folders = [config.skills].flat();
  if (folders.length === 0) return [];
  const { createSkillFolders } = await import('../gateway/skill-folders.ts');
  const options = { folders, baseDir: folder, registry, watch: false, log: () => {} };
  return (await createSkillFolders(options)).complaints;
}

// Progress goes to standard error, so that standard output has the report alone.
async function connections(loaded: LoadedConfig): Promise<Complaint[]> {
  const { tryConnections } = await import('./try-connections.ts');
  return tryConnections(loaded, (text) => process.stderr.write(`${text}\n`));
}

// A file may be meant for a program that can ask; this one cannot.
function aboutPerson({ config: { stages }, complain }: LoadedConfig): Complaint[] {
  if (stages.approve === false || stages.approve.mode !== 'person') return [];
  const message = 'lets calls wait for a person, whom only a program of your own can ask';
  const remedy = 'serve it with createGateway and onToolCall, or set it to "operator"';
  return [complain(['stages', 'approve', 'mode'], { message, remedy, severity: 'warning' })];
}

function aboutModule(
  loaded: LoadedConfig,
  { file, reason, severity }: { file: string; reason: string; severity: Complaint['severity'] },
): Complaint {
  const index = loaded.config.tools.modules.indexOf(file);
  const path = ['tools', 'modules', ...(index < 0 ? [] : [index])];
  const message =
    severity === 'warning' ? 'matches no file' : `names a file that cannot be used, ${file}: ${reason}`;
  const remedy = severity === 'warning' ? 'correct it, or leave it out' : '';
  return loaded.complain(path, { message, remedy, severity });
}

function aboutRule(loaded: LoadedConfig, complaint: AccessComplaint): Complaint {
  const { rule, path, message, remedy, severity } = complaint;
  return loaded.complain(['access', rule, ...path], {
    message,
    remedy,
    severity,
  });
}

function forPeople(file: string, { complaints, summary }: Report): string {
  const lines = complaints.map(formatComplaint);
  if (complaints.every(({ severity }) => severity === 'warning')) lines.push(`${file} is good: ${summary}.`);
  return `${printableLines(lines.join('\n'))}\n`;
}

function summaryOf(registry: ToolRegistry, files: number, config: LoadedConfig['config']): string {
  const { access, mcpServers, agents } = config;
  const servers = Object.values(mcpServers ?? {}).filter(({ disabled }) => !disabled).length;
  const parts = [
    count(registry.list().length, 'tool'),
    ...(registry.resources ? [count(registry.resources.size, 'resource')] : []),
    ...(registry.prompts ? [count(registry.prompts.size, 'prompt')] : []),
    ...(files > 0 ? [count(files, 'module')] : []),
    ...(servers > 0 ? [count(servers, 'other server')] : []),
    ...(agents === undefined ? [] : [count(Object.keys(agents).length, 'agent')]),
    ...(access === undefined ? [] : [count(access.length, 'rule')]),
  ];
  return parts.join(', ');
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
