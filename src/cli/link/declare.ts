import type { Command } from 'commander';
import { DEFAULT_CONFIG } from '../default-file.ts';
import { clientNames } from '../servers/client-files.ts';
import type { LinkFlags, UnlinkFlags } from './link.ts';

const CLIENTS = `one of ${clientNames.join(', ')}`;

/** Declares the commands that put this Toolcrib into files of clients. */
export function declareLinkCommands(program: Command): void {
  program
    .command('link')
    .description('write the entry for this Toolcrib into the file of a client')
    .argument('[client]', CLIENTS)
    .option('--config <file>', 'the configuration that is served', DEFAULT_CONFIG)
    .option('--name <name>', 'the name of the entry; server.name unless set')
    .option('--url <address>', 'reach a running server here instead of starting one')
    .option('--key-variable <name>', 'the variable of the environment that holds the API key')
    .option('--file <file>', 'another file than the usual one, such as that of a project')
    .option('--print', 'print the entry, or those of all clients, and write nothing')
    .option('--yes', 'also write through a link that leads out of your home')
    .action(async (client: string | undefined, flags: LinkFlags) =>
      (await import('./link.ts')).link(client, flags),
    );
  program
    .command('unlink')
    .description('take the entry out of the file of a client again')
    .argument('<client>', CLIENTS)
    .option('--name <name>', 'only the entry of this name')
    .option('--file <file>', 'another file than the usual one')
    .option('--print', 'print what would be taken out, and change nothing')
    .action(async (client: string, flags: UnlinkFlags) => (await import('./link.ts')).unlink(client, flags));
}
