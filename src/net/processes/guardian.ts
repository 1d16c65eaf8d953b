import { spawn, type ChildProcess } from 'node:child_process';
import { systemClock } from '../../base/clock.ts';
import { coverInherited } from './inherited-descriptors.ts';

const MAX_STARTS = 100;
// Commands often follow each other, and none should have to start another guardian.
const REST_MS = 1_000;

/**
 * Ends process groups after this process has ended in any way: a small process reads the running groups from a pipe,
 * and the kernel closes that pipe in every case. It ends soon after the last group.
 */
export class Guardian {
  readonly #groups = new Set<number>();
  #process: ChildProcess | undefined;
  #starts = 0;
  #stay: () => void = () => {};

  /** Has a group ended with this process. */
  add(group: number): void {
    this.#groups.add(group);
    this.#stay();
    if (this.#process) this.#tell(`+ ${group}`);
    else this.#tryToStart();
  }

  /** A group that has ended; its id may soon be used again. */
  remove(group: number): void {
    if (!this.#groups.delete(group)) return;
    this.#tell(`- ${group}`);
    if (this.#groups.size === 0) this.#stay = systemClock.after(REST_MS, () => this.#rest());
  }

  #rest(): void {
    const guardian = this.#process;
    this.#process = undefined;
    if (this.#starts < MAX_STARTS) this.#starts = 0;
    guardian?.stdin?.end();
  }

  #tryToStart(): void {
    // One that ends again and again is given up.
    if (++this.#starts > MAX_STARTS) return;
    try {
      this.#start();
    } catch {
      // Such as for want of descriptors: it is tried again with the next group.
    }
  }

  #start(): void {
    const guardian = spawn('/bin/sh', ['-c', SCRIPT], {
      cwd: '/',
      env: {},
      shell: false,
      // A signal to the group of this process must not reach it.
      detached: true,
      stdio: coverInherited(['pipe', 'ignore', 'ignore']),
    });
    this.#process = guardian;
    guardian.stdin?.on('error', () => {});
    guardian.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (this.#process === guardian) this.#process = undefined;
      // Where there is no shell, groups end with an orderly exit alone.
      if (code === 'ENOENT' || code === 'EACCES') this.#starts = MAX_STARTS;
    });
    guardian.on('exit', () => {
      if (this.#process !== guardian) return;
      this.#process = undefined;
      if (this.#groups.size > 0) this.#tryToStart();
    });
    // Neither keeps this process from ending.
    guardian.unref();
    (guardian.stdin as { unref?: () => void } | null)?.unref?.();
    for (const group of this.#groups) this.#tell(`+ ${group}`);
  }

  #tell(line: string): void {
    this.#process?.stdin?.write(`${line}\n`);
  }
}

// Only numbers of ours come in. Programs get a second to end by themselves, as in an orderly stop.
const SCRIPT = `
trap '' TERM INT HUP QUIT PIPE
PATH=/usr/bin:/bin
groups=' '
while read -r what group; do
  case $what in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s TERM -- "-$group"; done
for group in $groups; do sleep 1; break; done
for group in $groups; do kill -s KILL -- "-$group"; done
`;
