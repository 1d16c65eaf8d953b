import { InvalidArgumentError, Option, type Command } from 'commander';
import type { RunFlags } from './run.ts';

/** Declares `toolcrib run`; it loads what it needs when it runs. */
export function declareRunCommand(program: Command): void {
  program
    .command('run')
    .description('have an agent answer a question; without one, talk with it')
    .argument('<agent>', "the agent's name or file, or FILE#NAME where it has several")
    .argument('[question]', 'what to ask')
    .option('--model <name>', 'the model to use, such as claude-sonnet-4-5, gpt-5.4 or ollama/qwen3')
    .option('--base-url <url>', 'where the model is, such as http://127.0.0.1:11434/v1')
    .option('--key-variable <name>', 'the variable that holds the key for it')
    .addOption(
      new Option('--mode <mode>', 'how freely tools run; balanced unless set').choices([
        'strict',
        'balanced',
        'restricted',
        'autonomous',
      ]),
    )
    .option('--yes-read-only', 'do not ask about calls that are proven to change nothing')
    .option('--max-calls <n>', 'the most calls of tools', wholeNumber)
    .option('--record <file>', 'keep what happens in this file, for --replay')
    .option('--replay <file>', 'let the model say again what a recorded one said; tools are called for real')
    .option('--yes', 'do not ask before programs of the file are started and keys are sent')
    .option('--json', 'print events as JSON lines, for other programs')
    .action(async (agent: string, question: string | undefined, flags: RunFlags) =>
      (await import('./run.ts')).run(agent, question, flags),
    );
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
