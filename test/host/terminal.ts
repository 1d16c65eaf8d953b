import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { within } from '../within.ts';

/** A command at a real terminal, with somebody who types. */
export interface Terminal {
  /** Everything shown up to a text, which must come after what was shown before. */
  until(text: string): Promise<string>;
  type(keys: string): void;
  /** Everything shown so far. */
  shown(): string;
  readonly exit: Promise<number | null>;
}

const LIMIT_MS = 10_000;

/** Starts Node.js on a script at a terminal of its own; it ends with the test at the latest. */
export function atTerminal(args: readonly string[], env: Readonly<Record<string, string>>): Terminal {
  const words = [process.execPath, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  const child = spawn('script', ['-qec', `stty cols 500; exec ${words.join(' ')}`, '/dev/null'], {
    env: { ...process.env, NO_COLOR: '1', TERM: 'dumb', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  let read = 0;
  const waiting = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    for (const look of waiting) look();
  });
  const until = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const look = (): void => {
        const at = shown.indexOf(text, read);
        if (at === -1) return;
        const part = shown.slice(read, at + text.length);
        read = at + text.length;
        waiting.delete(look);
        resolve(part);
      };
      waiting.add(look);
      look();
    });
  return {
    until: (text) =>
      within(LIMIT_MS, `"${text}"`, until(text)).catch((error: unknown) => {
        throw new Error(`${(error as Error).message} Shown: ${shown.slice(read)}`, { cause: error });
      }),
    shown: () => shown,
    type: (keys) => void child.stdin.write(keys),
    exit: once(child, 'close').then(([code]) => code as number | null),
  };
}
