#!/usr/bin/env node
import { Command, Option } from 'commander';
import { ToolcribError } from '../core/errors.ts';
import { packageVersion } from './package-version.ts';
import { serve } from './serve.ts';

const program = new Command('toolcrib')
  .description('Keeps tools for AI agents, hands them out over the Model Context Protocol, and logs it.')
  .version(packageVersion())
  .showHelpAfterError('(run toolcrib --help for the commands)');

program
  .command('serve')
  .description('serve the ready-made safe tools')
  .showHelpAfterError('(run toolcrib serve --help for its options)')
  .addOption(
    new Option('--listen <[host:]port>', 'where to listen').default('127.0.0.1:8484').conflicts('stdio'),
  )
  .option('--stdio', 'talk over standard input and output instead')
  .action(serve);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof ToolcribError)) throw error;
  process.stderr.write(`toolcrib: ${error.message}\n`);
  process.exitCode = 1;
}
