import { join, resolve } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { AGENT_FILE, agentFile } from './agent-file.ts';
import { projectFiles, type ProjectPlan } from './files.ts';
import { complaintAboutName, nameAfter } from './name.ts';
import { askQuestions } from './questions.ts';
import { complaintAboutTool, templates, type TemplateName } from './templates.ts';
import { refuseExisting, writeFiles } from './write.ts';

/** Options of `toolcrib init`. */
export interface InitFlags {
  readonly name?: string;
  readonly template?: TemplateName;
  readonly tool?: string;
  readonly language?: ProjectPlan['language'];
  readonly does?: string;
  readonly returns?: string;
  readonly when?: string;
  /** Whether to ask nothing. */
  readonly yes?: boolean;
  /** Whether to overwrite existing files. */
  readonly force?: boolean;
  /** Whether to write an agent instead of a project. */
  readonly agent?: boolean;
}

/** `toolcrib init`: creates a project with a first tool, its test and a configuration. */
export async function init(folder: string, flags: InitFlags): Promise<void> {
  const complaint = flags.name === undefined ? undefined : complaintAboutName(flags.name);
  if (complaint !== undefined) throw new ToolcribError('invalid_setup', `--name: ${complaint}`);
  const wrong = flags.tool === undefined ? undefined : complaintAboutTool(flags.tool);
  if (wrong !== undefined) throw new ToolcribError('invalid_setup', `--tool: ${wrong}`);
  if (flags.agent) {
    writeAgent(folder, flags);
    return;
  }
  const standard = standardPlan(folder, flags);
  // Before any questions, so that no answers are lost.
  if (!flags.force) refuseExisting(folder, projectFiles(standard).keys());
  const isAsked = !flags.yes && process.stdin.isTTY && process.stdout.isTTY;
  const plan = isAsked ? await askQuestions(knownFrom(flags), standard.name) : standard;
  if (!plan) {
    process.exitCode = 130;
    return;
  }
  const files = projectFiles(plan);
  if (!flags.force) refuseExisting(folder, files.keys());
  writeFiles(folder, files, { overwrite: flags.force ?? false });
  process.stdout.write(farewell(folder, [...files.keys()]));
}

function writeAgent(folder: string, { name = nameAfter(folder), force = false }: InitFlags): void {
  const files = new Map([[AGENT_FILE, agentFile(name)]]);
  if (!force) refuseExisting(folder, files.keys());
  writeFiles(folder, files, { overwrite: force });
  const path = quotedForShell(join(folder, AGENT_FILE));
  // After a run with npx there is no installed command of that name.
  const own = process.env['npm_command'] === 'exec' ? 'npx toolcrib' : 'toolcrib';
  const steps = [
    `${own} agents show ${path}`,
    `${own} run ${path} "What time is it in Lisbon?" --model ollama/qwen3`,
  ];
  process.stdout.write(`Written: ${path}\nNext:\n${steps.map((step) => `  ${step}\n`).join('')}`);
}

function knownFrom({ name, template, tool, language, does, returns, when }: InitFlags): Partial<ProjectPlan> {
  return {
    ...(name !== undefined && { name }),
    ...(template !== undefined && { template }),
    ...(tool !== undefined && { tool }),
    ...(language !== undefined && { language }),
    ...(does !== undefined && { does }),
    ...(returns !== undefined && { returns }),
    ...(when !== undefined && { when }),
  };
}

function standardPlan(folder: string, flags: InitFlags): ProjectPlan {
  const template = flags.template ?? 'query';
  const { tool, does, returns, when } = templates[template];
  return {
    name: nameAfter(folder),
    language: 'typescript',
    tool,
    does,
    returns,
    when,
    ...knownFrom(flags),
    template,
  };
}

function farewell(folder: string, paths: readonly string[]): string {
  const isHere = resolve(folder) === process.cwd();
  const steps = [...(isHere ? [] : [`cd ${quotedForShell(folder)}`]), 'npm install', 'npm test', 'npm start'];
  return [
    `Written to ${isHere ? 'this folder' : folder}:`,
    ...paths.map((path) => `  ${path}`),
    'Next:',
    ...steps.map((step) => `  ${step}`),
    '',
  ].join('\n');
}

// Something to copy into a shell as it is.
function quotedForShell(path: string): string {
  return /^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
