import { spawn, type ChildProcess } from 'node:child_process';
import { coverInherited } from './inherited-descriptors.ts';

const MAX_STARTS = 100;

/**
 * Ends process groups after this process is gone, however it went: a small process reads from a pipe which groups
 * there are, and the kernel closes that pipe in every case.
 */
export class Guardian {
  readonly #groups = new Set<number>();
  #process: ChildProcess | undefined;
  #starts = 0;

  /** Has a group ended with this process. */
  add(group: number): void {
    this.#groups.add(group);
    if (this.#process) this.#tell(`+ ${group}`);
    else this.#start();
  }

  /** A group that is gone; its number may soon be that of another one. */
  remove(group: number): void {
    if (this.#groups.delete(group)) this.#tell(`- ${group}`);
  }

  #start(): void {
    // One that ends again and again, or that cannot be started, is given up.
    if (++this.#starts > MAX_STARTS) return;
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
    // Where there is no shell, groups end with an orderly exit alone.
    guardian.on('error', () => (this.#starts = MAX_STARTS));
    guardian.on('exit', () => {
      this.#process = undefined;
      if (this.#groups.size > 0) this.#start();
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
