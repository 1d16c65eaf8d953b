import type { Command } from 'commander';
import { localCommand } from '../client/declare.ts';
import { DEFAULT_CONFIG } from '../default-file.ts';
import type { AddFlags } from './add.ts';
import type { ImportFlags } from './import.ts';

/** Declares the commands that put other servers into a configuration. */
export function declareAddCommands(program: Command): void {
  program
    .command('add')
    .description('add another server to a configuration, after showing its tools')
    .argument(
      '[target]',
      'its address, a server.json of a registry (file or address), or its name in a file of another client; or none, and its command after "--"',
    )
    .option('--config <file>', 'the configuration; it is made if there is none', DEFAULT_CONFIG)
    .option('--name <name>', 'the name of the server here')
    .option('--tools <patterns>', 'which of its tools are used, separated by commas; all unless set')
    .option('--no-try', 'do not connect to it before it is added')
    .option('--print', 'print what would be added; start, reach and write nothing')
    .option('--yes', 'do not ask')
    .action(async (target: string | undefined, flags: AddFlags) =>
      (await import('./add.ts')).add(target, localCommand(), flags),
    );
  program
    .command('import')
    .description('add the servers that other clients have to a configuration; secrets become variables')
    .argument('[names...]', 'only these; all that are found unless set')
    .option('--config <file>', 'the configuration; it is made if there is none', DEFAULT_CONFIG)
    .option('--from <file>', 'look into this file alone')
    .option('--print', 'print what would be added, and write nothing')
    .option('--yes', 'do not ask')
    .action(async (names: string[], flags: ImportFlags) =>
      (await import('./import.ts')).importServers(names, flags),
    );
}
