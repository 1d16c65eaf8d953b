import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { within } from '../within.ts';
import { eventually } from './scenario.ts';

/** Why processes cannot be traced here; `undefined` when they can. */
export function tracingObstacle(): string | undefined {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-e', 'trace=none', 'true'], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  if (error) return 'strace is not installed';
  return status === 0 ? undefined : `strace cannot trace here: ${stderr.slice(0, 200)}`;
}

/** A fault that the tracer puts into the system calls of a running process, until it is lifted. */
export class Interference {
  readonly #tracer: ChildProcess;
  #said = '';

  private constructor(pid: number, injection: string) {
    const calls = injection.slice(0, injection.indexOf(':'));
    this.#tracer = spawn(
      'strace',
      ['-f', '-p', String(pid), '-e', `trace=${calls}`, '-e', `inject=${injection}`],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    this.#tracer.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
    });
  }

  /** Begins to interfere; resolves when every thread is under control. */
  static async begin(pid: number, injection: string): Promise<Interference> {
    const interference = new Interference(pid, injection);
    await eventually('the tracer attaches', () => interference.#said.includes('attached'));
    return interference;
  }

  /** How many calls were tampered with. */
  get count(): number {
    return this.#said.split(/\((?:INJECTED|DELAYED)\)/).length - 1;
  }

  /** Leaves the process alone again. */
  async lift(): Promise<void> {
    if (this.#tracer.exitCode !== null || this.#tracer.signalCode !== null) return;
    const ended = once(this.#tracer, 'exit');
    this.#tracer.kill('SIGINT');
    await within(30_000, 'the tracer detaches', ended).finally(() => this.#tracer.kill('SIGKILL'));
  }
}
