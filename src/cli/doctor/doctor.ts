import { ToolcribError } from '../../base/errors.ts';
import { formatJson, printable } from '../table.ts';
import { exitCodeOf } from '../client/exit-codes.ts';
import { stepsFor, type Step } from './steps.ts';
import { findTarget, splitTarget, type ServerFlags } from '../client/target.ts';
import { lastWordsOf, reportFailure } from '../client/with-client.ts';
import { withoutConcealed } from '../complain.ts';

interface Examined {
  readonly step: string;
  readonly state: 'ok' | 'skipped' | 'failed';
  /** The finding, as a sentence. */
  readonly found: string;
  readonly remedy?: string;
}

const STEP_WIDTH = 12;

/** `toolcrib doctor`: tries a server step by step, and names the first step that fails with its remedy. */
export async function doctor(
  words: readonly string[],
  command: readonly string[],
  flags: ServerFlags,
): Promise<void> {
  const { meant } = splitTarget(words, command, flags);
  const seen: Examined[] = [];
  try {
    const { steps, close } = stepsFor(await findTarget(meant), flags);
    try {
      for (const step of steps) {
        const examined = await examine(step);
        seen.push(examined);
        if (!flags.json) process.stdout.write(lineOf(examined));
        if (examined.state === 'failed') break;
      }
    } finally {
      await close();
    }
  } catch (error) {
    reportFailure(error, {});
  }
  const isWell = seen.length > 0 && seen.every(({ state }) => state !== 'failed');
  if (flags.json) process.stdout.write(formatJson({ ok: isWell, steps: seen }, 2));
  else if (isWell) process.stdout.write('All is well.\n');
}

async function examine({ name, run, remedy }: Step): Promise<Examined> {
  try {
    const found = await run();
    if (typeof found === 'string') return { step: name, state: 'ok', found: withoutConcealed(found) };
    return { step: name, state: 'skipped', found: found.skipped };
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    process.exitCode = exitCodeOf(error);
    const found = withoutConcealed(explain(error));
    return { step: name, state: 'failed', found, remedy: withoutConcealed(remedy) };
  }
}

function explain(error: ToolcribError): string {
  const lines = lastWordsOf(error)?.split('\n') ?? [];
  const said = lines.map((line) => line.trim()).filter((line) => line !== '');
  if (said.length === 0) return error.message;
  return `${error.message} It wrote: ${said.join(' | ')}`;
}

function lineOf({ step, state, found, remedy }: Examined): string {
  const line = `${state.padEnd(7)}  ${step.padEnd(STEP_WIDTH)}  ${printable(found)}\n`;
  return remedy === undefined ? line : `${line}${' '.repeat(STEP_WIDTH + 11)}${printable(remedy)}\n`;
}
