import type { Command } from 'commander';
import type { CallFlags } from './call.ts';
import type { ListFlags } from './list.ts';
import type { LoginFlags } from './login.ts';
import type { PromptFlags } from './prompt.ts';
import type { ReadFlags } from './read.ts';
import type { ServerFlags } from './target.ts';
import type { ServersFlags } from '../servers/servers.ts';

const TARGET = 'the address or the name of a server; or none, and the command of a local one after "--"';

let serverCommand: readonly string[] = [];

/** Declares the commands that talk to a server; each loads what it needs when it runs. */
export function declareClientCommands(program: Command): void {
  withServer(program.command('list'))
    .description('show the tools of a server, or one of them in full')
    .argument('[words...]', `TARGET [TOOL]: ${TARGET}`)
    .option('--types', 'show them as TypeScript types')
    .action(async (words: string[], flags: ListFlags) =>
      (await import('./list.ts')).list(words, serverCommand, flags),
    );
  withServer(program.command('call'))
    .description('call a tool of a server')
    .argument('[words...]', `TARGET TOOL [key=value...] [key:=json...]: ${TARGET}`)
    .option('--input <file>', 'read the arguments from a file with a JSON object; "-" is standard input')
    .option('--save <folder>', 'where pictures and sounds are saved; the current folder unless set')
    .action(async (words: string[], flags: CallFlags) =>
      (await import('./call.ts')).call(words, serverCommand, flags),
    );
  withServer(program.command('read'))
    .description('show a resource of a server, or list what can be read')
    .argument('[words...]', `TARGET [URI]: ${TARGET}`)
    .option('--save <folder>', 'where files are saved; the current folder unless set')
    .action(async (words: string[], flags: ReadFlags) =>
      (await import('./read.ts')).read(words, serverCommand, flags),
    );
  withServer(program.command('prompt'))
    .description('show the messages of a prompt of a server, or list its prompts')
    .argument('[words...]', `TARGET [PROMPT] [key=value...]: ${TARGET}`)
    .option('--save <folder>', 'where pictures and sounds are saved; the current folder unless set')
    .action(async (words: string[], flags: PromptFlags) =>
      (await import('./prompt.ts')).prompt(words, serverCommand, flags),
    );
  withServer(program.command('complete'))
    .description('show what a server suggests for an argument of a prompt or a resource template')
    .argument('[words...]', `TARGET PROMPT|TEMPLATE argument=text [key=value...]: ${TARGET}`)
    .action(async (words: string[], flags: ServerFlags) =>
      (await import('./complete.ts')).complete(words, serverCommand, flags),
    );
  withServer(program.command('watch'))
    .description('print what changes at a server, until Ctrl-C')
    .argument('[words...]', `TARGET [URI...], with the resources to watch: ${TARGET}`)
    .action(async (words: string[], flags: ServerFlags) =>
      (await import('./watch.ts')).watch(words, serverCommand, flags),
    );
  withTarget(program.command('doctor'))
    .description('try a server step by step, and say what to do about the first step that fails')
    .argument('[words...]', `TARGET: ${TARGET}`)
    .option('--json', 'print JSON, for other programs')
    .action(async (words: string[], flags: ServerFlags) =>
      (await import('../doctor/doctor.ts')).doctor(words, serverCommand, flags),
    );
  declareSignIn(program);
  declareFiles(program);
}

// Of recordings, and of servers by name.
function declareFiles(program: Command): void {
  program
    .command('replay')
    .description('be a server over standard input and output that answers from a recording')
    .argument('<file>', 'what --record wrote')
    .action(async (file: string) => (await import('./replay.ts')).replay(file));
  program
    .command('servers')
    .description('list the servers that files of this project and of other clients name')
    .option('--from <file>', 'look into this file alone')
    .option('--json', 'print JSON, for other programs')
    .action(async (flags: ServersFlags) => (await import('../servers/servers.ts')).servers(flags));
}

function declareSignIn(program: Command): void {
  program
    .command('login')
    .description('sign in to a server')
    .argument('<target>', 'the address or the name of a server')
    .option('--no-browser', 'print the page to open instead of opening it')
    .option('--client-id <id>', 'a client that is registered with the authorization server')
    .option('--scope <name...>', 'scopes to ask for instead of those the server names')
    .option('--from <file>', 'look the name up in this file alone')
    .option('--ca <file>', 'certificates of authorities to trust instead of the usual ones, as PEM')
    .option('--json', 'print JSON, for other programs')
    .action(async (name: string, flags: LoginFlags) => (await import('./login.ts')).login(name, flags));
  program
    .command('logout')
    .description('forget the tokens of a server')
    .argument('<target>', 'the address or the name of a server')
    .option('--from <file>', 'look the name up in this file alone')
    .option('--ca <file>', 'certificates of authorities to trust instead of the usual ones, as PEM')
    .option('--json', 'print JSON, for other programs')
    .action(async (name: string, flags: LoginFlags) => (await import('./login.ts')).logout(name, flags));
}

const DECLARED: ReadonlySet<string | undefined> = new Set([
  'add',
  'list',
  'call',
  'read',
  'prompt',
  'complete',
  'watch',
  'doctor',
  'lint',
  'codegen',
]);

/** The command of a local server, if the command line has one. */
export function localCommand(): readonly string[] {
  return serverCommand;
}

/** Takes the command of a local server out of a command line, for the commands that have one. */
export function takeServerCommand(argv: readonly string[]): readonly string[] {
  serverCommand = [];
  if (!DECLARED.has(argv[2])) return argv;
  // What follows `--` is never read as an option of ours.
  const at = argv.indexOf('--');
  const words = at < 0 ? argv : argv.slice(0, at);
  if (at >= 0) serverCommand = argv.slice(at + 1);
  return words.flatMap((word, index) => (isInput(words, index) ? ['--json', '--input'] : [word]));
}

// `--json FILE.json` and `--json -` say where the arguments are, too.
function isInput(words: readonly string[], at: number): boolean {
  return words[2] === 'call' && words[at] === '--json' && /^-$|\.json$/.test(words[at + 1] ?? '');
}

function withServer(command: Command): Command {
  return withTarget(command)
    .option('--record <file>', 'keep the messages in this file, for toolcrib replay')
    .option('--json', 'print JSON, for other programs');
}

/** Adds the options that say how a server is reached. */
export function withTarget(command: Command): Command {
  return command
    .option('--header <header>', 'a header to send, such as "X-Team: north"; can be repeated', collect)
    .option('--key <key>', 'an API key or token to send; local servers get it as TOOLCRIB_KEY')
    .option('--env <name=value>', 'a variable for a local server; can be repeated', collect)
    .option('--timeout <span>', 'how long the server may take, such as 30s; progress begins it anew')
    .option('--from <file>', 'look names up in this file alone')
    .option('--yes', 'do not ask before a server that a project file names is started')
    .option('--ca <file>', 'certificates of authorities to trust instead of the usual ones, as PEM')
    .option('--cert <file>', 'a certificate of this client, as PEM')
    .option('--cert-key <file>', 'its key, as PEM');
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
