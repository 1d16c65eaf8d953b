import type { Worker } from 'node:worker_threads';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ToolcribError } from '../base/errors.ts';
import { declareAgentCommands } from './agents/declare.ts';
import { declareAddCommands } from './add/declare.ts';
import type { DecideFlags, ListApprovalsFlags } from './approvals.ts';
import type { RowFlags } from './audit.ts';
import type { CheckFlags } from './check.ts';
import { declareClientCommands, localCommand, takeServerCommand, withTarget } from './client/declare.ts';
import { complain } from './complain.ts';
import type { CodegenFlags } from './codegen/codegen.ts';
import type { DeploymentFlags } from './deployment.ts';
import { DEFAULT_CONFIG } from './default-file.ts';
import type { InitFlags } from './init/init.ts';
import type { CreateKeyFlags, ListKeysFlags } from './keys.ts';
import type { LintFlags } from './lint.ts';
import { declareLinkCommands } from './link/declare.ts';
import { reserveOutput, standardOutput, watchOutput } from './output.ts';
import { packageVersion } from './package-version.ts';
import { declareRunCommand } from './run/declare.ts';
import type { ServeFlags } from './serve.ts';
import { declarePinCommands } from './pins/declare.ts';
import { printableLines } from './table.ts';
import type { CreateTenantFlags } from './tenants.ts';
import type { UpstreamsFlags } from './servers/upstreams.ts';
import type { WhoamiFlags } from './whoami.ts';

let storeWorker: Worker | undefined;
let isServing = false;

// Each command loads what it needs when it runs, for a fast start.
const program = new Command('toolcrib')
  .description('Serves tools to AI agents over the Model Context Protocol, and records every call.')
  .version(packageVersion())
  .configureOutput({ writeErr: (text) => process.stderr.write(printableLines(text)) });

program
  .commandsGroup('Serve and configure:')
  .command('serve')
  .description('serve the tools of a configuration, or the ready-made safe ones')
  .option('--config <file>', 'the configuration; toolcrib.yaml if there is one')
  .addOption(
    new Option(
      '--listen <[host:]port>',
      'where to listen; 127.0.0.1:8484 unless the configuration says otherwise',
    ).conflicts('stdio'),
  )
  .addOption(new Option('--port <port>').hideHelp().argParser(pointToListen))
  .option('--stdio', 'talk over standard input and output instead')
  .addOption(
    new Option(
      '--key <key>',
      'with --stdio: the API key of the caller; better in TOOLCRIB_KEY, which other users cannot see',
    ).conflicts('listen'),
  )
  .action(async (flags: ServeFlags) => {
    isServing = true;
    if (flags.stdio) reserveOutput();
    await (await import('./serve.ts')).serve(flags, storeWorker);
  });

program
  .command('init')
  .description('make a project: a first tool, its test and a configuration; asks questions on a terminal')
  .argument('[folder]', 'where to make it', '.')
  .option('--name <name>', 'its name; that of the folder unless set')
  .addOption(
    new Option('--template <kind>', 'what its tool is for').choices(['query', 'action', 'transformation']),
  )
  .addOption(
    new Option('--language <language>', 'its language; TypeScript unless set').choices([
      'typescript',
      'javascript',
    ]),
  )
  .option('--tool <name>', 'the name of its tool, such as find_orders')
  .option('--does <sentence>', 'for the model: what the tool does')
  .option('--returns <sentence>', 'for the model: what it returns')
  .option('--when <sentence>', 'for the model: when to use it')
  .option('--agent', 'write an agent, agent.yaml, instead of a project')
  .option('--yes', 'ask nothing')
  .option('--force', 'overwrite files that are there')
  .action(async (folder: string, flags: InitFlags) => (await import('./init/init.ts')).init(folder, flags));

program
  .command('check')
  .description('check a configuration, its tools and its rules')
  .argument('[file]', `the configuration; ${DEFAULT_CONFIG} unless set`)
  .option('--config <file>', 'the same as the argument')
  .option('--connect', 'also try databases, issuers, hosts and other servers, for 5 seconds each')
  .option('--json', 'print the complaints as JSON')
  .action(async (file: string | undefined, flags: CheckFlags) => {
    reserveOutput();
    await (await import('./check.ts')).check(file, flags);
  });

withTarget(program.command('lint'))
  .description('find what makes tools hard to choose, to call or to list')
  .argument('[files...]', 'modules with tools, configurations (.yaml), tools/list answers (.json) or servers')
  .option('--config <file>', 'a configuration; toolcrib.yaml if nothing is named')
  .option('--strict', 'fail on warnings too')
  .option('--ignore <rules>', 'rules to ignore, separated by commas')
  .option('--json', 'print JSON, for other programs')
  .action(async (files: string[], flags: LintFlags) => {
    reserveOutput();
    await (await import('./lint.ts')).lint(files, { ...flags, server: localCommand() });
  });

withTarget(program.command('codegen'))
  .description('write TypeScript types for the arguments and results of tools')
  .argument('[files...]', 'modules with tools, configurations (.yaml), tools/list answers (.json) or servers')
  .option('--config <file>', 'a configuration; toolcrib.yaml if nothing is named')
  .option('--out <file>', 'where to write them; standard output unless set')
  .action(async (files: string[], flags: CodegenFlags) => {
    reserveOutput();
    await (await import('./codegen/codegen.ts')).codegen(files, { ...flags, server: localCommand() });
  });

const keys = program.commandsGroup('Govern:').command('keys').description('make, list and revoke API keys');
withConfig(keys.command('create'))
  .description('make a key; it is shown once')
  .requiredOption('--tenant <id>', 'the tenant of the key')
  .requiredOption('--caller <name>', 'the caller it identifies')
  .option('--role <name...>', 'roles, for the access rules')
  .option('--scope <name...>', 'scopes')
  .option('--expires <span>', 'how long it works, such as 90d')
  .action(async (flags: CreateKeyFlags) => (await import('./keys.ts')).createKey(flags));
withConfig(keys.command('list'))
  .description('list keys, without their secrets')
  .option('--tenant <id>', 'only those of one tenant')
  .action(async (flags: ListKeysFlags) => (await import('./keys.ts')).listKeys(flags));
withConfig(keys.command('revoke'))
  .description('revoke a key; servers notice within 5 seconds')
  .argument('<id>', 'the id that toolcrib keys list shows')
  .action(async (id: string, flags: DeploymentFlags) => (await import('./keys.ts')).revokeKey(id, flags));

withConfig(program.command('whoami'))
  .description('tell whose credential this is and what it may use, or why it is refused')
  .option('--key <key>', 'an API key; "-" reads it from standard input')
  .option('--token <token>', 'a token; "-" reads it from standard input')
  .action(async (flags: WhoamiFlags) => (await import('./whoami.ts')).whoami(flags));

withConfig(program.command('upstreams'))
  .description('show the state of the servers behind a gateway, and what to do about those that fail')
  .option('--connect', 'ask each server now, instead of showing what the running gateway knows')
  .action(async (flags: UpstreamsFlags) => {
    reserveOutput();
    await (await import('./servers/upstreams.ts')).upstreams(flags);
  });

const tenants = program.command('tenants').description('make, list, disable and enable tenants');
withConfig(tenants.command('create'))
  .description('make a tenant, or change its name and data')
  .argument('<id>', 'a short name of letters, digits, "_", "-" and "."')
  .option('--name <name>', 'the name shown to people and tools')
  .option('--data <json>', 'facts for tools, as a JSON object')
  .action(async (id: string, flags: CreateTenantFlags) =>
    (await import('./tenants.ts')).createTenant(id, flags),
  );
withConfig(tenants.command('list'))
  .description('list tenants')
  .action(async (flags: DeploymentFlags) => (await import('./tenants.ts')).listTenants(flags));
for (const [name, disabled] of [
  ['disable', true],
  ['enable', false],
] as const) {
  withConfig(tenants.command(name))
    .description(disabled ? "refuse a tenant's keys and tokens" : 'undo disable')
    .argument('<id>', 'the tenant')
    .action(async (id: string, flags: DeploymentFlags) =>
      (await import('./tenants.ts')).switchTenant(id, disabled, flags),
    );
}

const approvals = program.command('approvals').description('decide about calls that wait for a person');
withConfig(approvals.command('list'))
  .description('show the calls that wait, with all of their arguments')
  .option('--tenant <id>', 'only calls of one tenant')
  .action(async (flags: ListApprovalsFlags) => (await import('./approvals.ts')).listApprovals(flags));
for (const [name, isApproved] of [
  ['approve', true],
  ['deny', false],
] as const) {
  const command = withConfig(approvals.command(name))
    .description(isApproved ? 'let exactly this call be made, once' : 'refuse exactly this call')
    .argument('<id>', 'the id that toolcrib approvals list shows')
    .action(async (id: string, flags: DecideFlags) =>
      (await import('./approvals.ts')).decideApproval(id, isApproved, flags),
    );
  if (isApproved) command.option('--yes', 'do not ask again at a terminal');
}

const audit = program.command('audit').description('read and verify the record');
withRows(audit.command('tail'))
  .description('show the newest rows')
  .option('-f, --follow', 'go on showing rows as they are written, until Ctrl-C')
  .action(async (flags: RowFlags) => (await import('./audit.ts')).tailAudit(flags));
withRows(audit.command('search'))
  .description('find rows, newest first')
  .action(async (flags: RowFlags) => (await import('./audit.ts')).searchAudit(flags));
withRows(audit.command('export'))
  .description('write every row that matches to standard output, oldest first')
  .addOption(
    new Option('--format <format>', 'the form of the rows').choices(['jsonl', 'csv']).default('jsonl'),
  )
  .action(async (flags: RowFlags) => (await import('./audit.ts')).exportAudit(flags));
withConfig(audit.command('verify'))
  .description('check that no row was changed, removed, moved or cut off')
  .action(async (flags: DeploymentFlags) => (await import('./audit.ts')).verifyAudit(flags));

declarePinCommands(program);
declareLinkCommands(program.commandsGroup('Serve and configure:'));
declareAddCommands(program);
declareClientCommands(program.commandsGroup('Use servers:'));
declareAgentCommands(program.commandsGroup('Agents:'));
declareRunCommand(program);
program.commandsGroup('Help:').helpCommand('help [command]', 'show this, or the options of a command');
pointToHelp(program, 'toolcrib');

// Points to the help of a mistyped command.
function pointToHelp(command: Command, name: string): void {
  const what = command.commands.length > 0 ? 'the commands' : 'its options';
  command.showHelpAfterError(`(run ${name} --help for ${what})`);
  for (const inner of command.commands) pointToHelp(inner, `${name} ${inner.name()}`);
}

function pointToListen(port: string): never {
  throw new InvalidArgumentError(
    `Say where to listen with --listen ${/^\d{1,5}$/.test(port) && Number(port) <= 65_535 ? port : '8484'}.`,
  );
}

function withConfig(command: Command): Command {
  return command
    .option('--config <file>', 'the configuration', DEFAULT_CONFIG)
    .option('--json', 'print JSON, for other programs');
}

function withRows(command: Command): Command {
  return withConfig(command)
    .option('--tenant <id>', 'only rows of the chain of one tenant; with --operator, actions about it')
    .option('--caller <name>', 'only rows of one caller, or actions of one operator')
    .option('--tool <name>', 'only rows about one tool')
    .option('--outcome <outcome>', 'only rows with this outcome, such as done, failed or unknown_tool')
    .option('--operator', 'only actions of operators')
    .option(
      '--since <time>',
      'only rows from this time on, such as 2026-11-15T13:00Z, or from so long ago, such as 2h',
    )
    .option('--until <time>', 'only rows up to this time')
    .option('--limit <n>', 'the most rows to show');
}

// How long open handles may delay the end of a command.
const END_MS = 500;

/** Runs the command line, and ends the process with it; a server may be given the thread of its store. */
export async function runCommand(worker: Worker | undefined): Promise<void> {
  storeWorker = worker;
  watchOutput(() => isServing);
  try {
    await program.parseAsync(takeServerCommand(process.argv));
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    complain(error.message);
    process.exitCode = 1;
  }
  // A module of tools may hold connections or timers that cannot be closed from outside.
  setTimeout(() => void endWhenWritten(), END_MS).unref();
}

// Slow readers still get all output.
async function endWhenWritten(): Promise<void> {
  const open = [standardOutput(), process.stderr].filter(({ writableLength }) => writableLength > 0);
  await Promise.all(open.map((stream) => new Promise((resolve) => stream.write('', resolve))));
  process.exit();
}
