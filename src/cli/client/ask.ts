import { createInterface } from 'node:readline/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { exitCodes } from './exit-codes.ts';

/** Whether there is a person at a terminal who can be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks at the terminal; `undefined` if there is no terminal or the input ends. */
export async function ask(question: string, signal?: AbortSignal): Promise<string | undefined> {
  if (!canAsk()) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // A program that reads keys gets Ctrl-C as one of them; it means the same as everywhere.
  lines.on('SIGINT', () => {
    if (!process.emit('SIGINT', 'SIGINT')) process.exit(exitCodes.interrupted);
  });
  try {
    const ended = new Promise<undefined>((resolve) => void lines.once('close', () => resolve(undefined)));
    return await Promise.race([lines.question(question, signal ? { signal } : {}), ended]);
  } finally {
    lines.close();
  }
}

/** Asks like `ask`, but ignores input that was typed before the question was shown. */
export async function askAnew(question: string, signal?: AbortSignal): Promise<string | undefined> {
  if (canAsk()) await dropTyped();
  return ask(question, signal);
}

// Lines wait in the terminal until they are read, and come within a few milliseconds of that.
const TYPED_MS = 50;

/** Drops input that was typed at the terminal before now. */
export async function dropTyped(): Promise<void> {
  const drop = (): void => {};
  process.stdin.on('data', drop);
  await wait(TYPED_MS);
  process.stdin.off('data', drop).pause();
}

/** Whether an answer is a clear yes. */
export function isYes(answer: string | undefined): boolean {
  return /^y(?:es)?$/i.test(answer?.trim() ?? '');
}
