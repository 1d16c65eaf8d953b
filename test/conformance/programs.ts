import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { within } from '../within.ts';

/** A server that listens until it is stopped. */
export interface Served {
  readonly url: string;
  stop(): Promise<void>;
}

/** The kinds of server that have everything the suite asks for. */
export const kinds = ['toolcrib', 'sdk v2', 'sdk v1'] as const;

/** A kind of server. */
export type Kind = (typeof kinds)[number];

/** What Node.js is started with for a fixture server. */
export function fixtureArguments(kind: Kind, way: 'http' | 'stdio'): readonly string[] {
  const path = (name: string): string => join(import.meta.dirname, name);
  return kind === 'toolcrib'
    ? ['--import', import.meta.resolve('jiti/register'), path('fixture-server.ts'), way]
    : [path('sdk-server.mjs'), kind.slice(4), way];
}

/** Starts a fixture server. */
export function startFixture(kind: Kind = 'toolcrib'): Promise<Served> {
  return startProgram(fixtureArguments(kind, 'http'), import.meta.dirname);
}

/** Starts a program of Node.js whose first line ends with the address it listens at. */
export async function startProgram(args: readonly string[], folder: string): Promise<Served> {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const ended = exit.then(() => {
    throw new Error(`It ended before it listened: ${args.join(' ')}`);
  });
  ended.catch(() => {});
  const stop = async (): Promise<void> => {
    child.kill();
    await within(10_000, 'the program ends', exit).finally(() => child.kill('SIGKILL'));
  };
  try {
    const begun = Promise.race([once(createInterface(child.stdout), 'line'), ended]);
    const [line] = (await within(30_000, 'the program listens', begun)) as [string];
    return { url: line.slice(line.lastIndexOf(' ') + 1), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
