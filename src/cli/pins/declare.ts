import type { Command } from 'commander';
import type { DeploymentFlags } from '../deployment.ts';
import { DEFAULT_CONFIG } from '../default-file.ts';
import type { ApprovePinFlags } from './approve.ts';

const WHICH = 'a server, one of its tools as SERVER.TOOL, or one of its skills as SERVER.ADDRESS';

/** Declares the commands about definitions of tools and skills of other servers. */
export function declarePinCommands(program: Command): void {
  const pins = program
    .command('pins')
    .description('decide which definitions of tools and skills of other servers may be used');
  withConfig(pins.command('list'))
    .description('list the tools and skills that are pinned or held')
    .argument('[which]', WHICH)
    .action(async (which: string | undefined, flags: DeploymentFlags) =>
      (await import('./list.ts')).listPins(which, flags),
    );
  withConfig(pins.command('diff'))
    .description('show held definitions, how they differ from the pinned ones, and what looks suspicious')
    .argument('[which]', WHICH)
    .action(async (which: string | undefined, flags: DeploymentFlags) =>
      (await import('./diff.ts')).diffPins(which, flags),
    );
  withConfig(pins.command('approve'))
    .description('let tools and skills be used as they are now; servers notice within seconds')
    .argument('[which]', WHICH)
    .option('--all', 'everything that is held')
    .option('--digest <digest...>', 'only definitions with these digests, as toolcrib pins diff shows them')
    .option('--yes', 'do not ask: approve what is printed')
    .action(async (which: string | undefined, flags: ApprovePinFlags) =>
      (await import('./approve.ts')).approvePins(which, flags),
    );
  withConfig(pins.command('dismiss'))
    .description('forget held definitions; those that a server still lists are held again')
    .argument('<which>', WHICH)
    .action(async (which: string, flags: DeploymentFlags) =>
      (await import('./dismiss.ts')).dismissPins(which, flags),
    );
}

function withConfig(command: Command): Command {
  return command
    .option('--config <file>', 'the configuration', DEFAULT_CONFIG)
    .option('--json', 'print JSON, for other programs');
}
