import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { CANARY, type Answer, type Run, type Sandbox } from './file-sandbox.ts';

/** How an operation fared while the ground moved under it. */
export interface Tally {
  tries: number;
  /** How often it did its work inside. */
  inside: number;
  /** How often it did something outside. */
  escapes: number;
}

/** The duration of a race. */
export interface RaceOptions {
  /** For each operation. */
  readonly seconds: number;
  /** Ends the race of an operation early. */
  readonly until?: (tally: Tally) => boolean;
}

/**
 * Runs one operation after the other, each over and over on `d` and `f.txt`, while another process puts links to the
 * outside in their place and back as fast as it can.
 */
export async function race(
  sandbox: Sandbox,
  run: Run,
  { seconds, until = () => false }: RaceOptions,
): Promise<Record<string, Tally>> {
  const attempts = setUp(sandbox);
  const stop = await startSwapping(sandbox.root, seconds * attempts.length);
  const tallies: Record<string, Tally> = {};
  try {
    for (const { name, prepare, args, judge } of attempts) {
      const tally = (tallies[name] = { tries: 0, inside: 0, escapes: 0 });
      const end = Date.now() + seconds * 1_000;
      while (Date.now() < end && !until(tally)) {
        prepare?.();
        const verdict = judge(await run(args));
        tally.tries++;
        if (verdict !== 'nothing') tally[verdict]++;
      }
    }
  } finally {
    await stop();
  }
  return tallies;
}

interface Attempt {
  readonly name: string;
  readonly args: Answer;
  readonly prepare?: () => void;
  readonly judge: (answer: Answer) => 'inside' | 'escapes' | 'nothing';
}

function setUp({ root, outside }: Sandbox): Attempt[] {
  mkdirSync(join(root, 'd'));
  symlinkSync(outside, join(root, 'd-link'));
  symlinkSync(join(outside, 'canary.txt'), join(root, 'f-link'));
  writeFileSync(join(root, 'f.txt'), 'inside');
  writeFileSync(join(root, 'd/canary.txt'), 'inside');
  writeFileSync(join(outside, 'only-outside.txt'), CANARY);
  const held = openSync(join(root, 'd'), 'r');
  onTestFinished(() => closeSync(held));
  const inside = `/proc/self/fd/${held}`;

  const reads = (name: string, args: Answer): Attempt => ({
    name,
    args,
    judge: (answer) => {
      const text = JSON.stringify(answer);
      const isOut = [CANARY, 'only-outside.txt', `"size":${CANARY.length}`].some((sign) =>
        text.includes(sign),
      );
      if (isOut) return 'escapes';
      return 'error' in answer ? 'nothing' : 'inside';
    },
  });
  const puts = (name: string, file: string, args: Answer): Attempt => ({
    name,
    args,
    prepare: () => writeFileSync(join(root, 'stock.txt'), 'stock'),
    judge: (answer) => {
      if (existsSync(join(outside, file))) return 'escapes';
      return 'error' in answer ? 'nothing' : 'inside';
    },
  });
  const takes = (name: string, file: string, args: Answer): Attempt => {
    const put = (): void => {
      writeFileSync(join(inside, file), 'inside');
      if (!existsSync(join(outside, file))) writeFileSync(join(outside, file), CANARY);
    };
    put();
    return {
      name,
      args,
      prepare: put,
      judge: (answer) => {
        if (!existsSync(join(outside, file))) return 'escapes';
        return 'error' in answer ? 'nothing' : 'inside';
      },
    };
  };
  return [
    reads('read', { operation: 'read', path: 'd/canary.txt' }),
    reads('read a file', { operation: 'read', path: 'f.txt' }),
    reads('list', { operation: 'list', path: 'd' }),
    reads('info', { operation: 'info', path: 'd/canary.txt' }),
    puts('write', 'new.txt', { operation: 'write', path: 'd/new.txt', content: 'x', overwrite: true }),
    puts('move in', 'in.txt', { operation: 'move', path: 'stock.txt', to: 'd/in.txt', overwrite: true }),
    takes('move out', 'goods.txt', {
      operation: 'move',
      path: 'd/goods.txt',
      to: 'taken.txt',
      overwrite: true,
    }),
    takes('delete', 'victim.txt', { operation: 'delete', path: 'd/victim.txt' }),
  ];
}

const SWAPPER = `
const { renameSync } = require('node:fs');
const [root, seconds] = process.argv.slice(1);
const move = (from, to) => { try { renameSync(root + '/' + from, root + '/' + to); } catch {} };
const end = Date.now() + seconds * 1000;
process.stdout.write('swapping');
while (Date.now() < end) {
  for (let turn = 0; turn < 200; turn++) {
    move('d', 'd-real'); move('d-link', 'd');
    move('f.txt', 'f-real'); move('f-link', 'f.txt');
    move('d', 'd-link'); move('d-real', 'd');
    move('f.txt', 'f-link'); move('f-real', 'f.txt');
  }
}`;

// It also ends by itself, in case it is never stopped.
async function startSwapping(root: string, seconds: number): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, ['-e', SWAPPER, root, String(seconds + 10)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGKILL');
    await ended;
  };
}
