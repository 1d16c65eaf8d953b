import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { endsWithin } from '../../base/within.ts';
import { endGroup, endWithThisProcess, GRACE_MS } from './group.ts';
import { coverInherited } from './inherited-descriptors.ts';

/** A program to keep running. */
export interface ChildPlan {
  readonly command: string;
  readonly args: readonly string[];
  /** The folder it runs in; that of this process unless set. */
  readonly folder?: string | undefined;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** How much of the end of its error output is kept. */
  readonly maxErrorBytes: number;
  /** Told of its error output. */
  readonly onErrorText?: ((text: string) => void) | undefined;
}

/** A program that runs until it is closed or ends by itself. */
export interface Child {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Settles with how it ended; never rejects. */
  readonly ended: Promise<string>;
  /** The end of its error output. */
  errorText(): string;
  /** Closes its input, then sends SIGTERM, then SIGKILL; no process of its group is left. */
  close(): Promise<void>;
}

/** Starts a program without a shell, in a process group of its own and without descriptors of this process. */
export function startChild(plan: ChildPlan): Child {
  const process = spawn(plan.command, plan.args, {
    cwd: plan.folder,
    // Node.js passes this variable on unless it is set, and also reads inherited properties.
    env: Object.assign(Object.create(null) as object, { NODE_V8_COVERAGE: undefined }, plan.env),
    shell: false,
    detached: true,
    stdio: coverInherited(['pipe', 'pipe', 'pipe']),
  });
  const { pid } = process;
  const { stdin, stdout, stderr } = streamsOf(process);
  // Stream errors are ignored: the end of a program is noticed by its exit.
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => {});
  const errors = keepEnd(stderr, plan);
  const forget = pid === undefined ? undefined : endWithThisProcess(pid);
  const ended = endOf(process);
  // What it started ends with it, and only then its number may be used again.
  void ended.then(() => (pid === undefined ? undefined : endGroup(pid))).finally(forget);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    stdin.end();
    await endsWithin(GRACE_MS, ended);
    if (pid !== undefined) await endGroup(pid);
    await endsWithin(GRACE_MS, ended);
    // A process that left the group may keep the pipe open for ever.
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
  };
  return { stdin, stdout, ended, errorText: errors, close: () => (closing ??= close()) };
}

interface Streams {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

// Without free descriptors they are missing, whatever the types say, until it is noticed that nothing was started.
function streamsOf({ stdin, stdout, stderr }: Partial<ReturnType<typeof spawn>>): Streams {
  return {
    stdin: stdin ?? new PassThrough(),
    stdout: stdout ?? new PassThrough(),
    stderr: stderr ?? new PassThrough(),
  };
}

async function endOf(process: ReturnType<typeof spawn>): Promise<string> {
  try {
    const [code, signal] = (await once(process, 'exit')) as [number | null, string | null];
    return signal === null ? `ended with exit code ${String(code)}` : `was ended by ${signal}`;
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code;
    return reason === 'ENOENT'
      ? 'could not be found'
      : `could not be started (${reason ?? 'unknown reason'})`;
  }
}

function keepEnd(stream: Readable, { maxErrorBytes: limit, onErrorText }: ChildPlan): () => string {
  let kept = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    onErrorText?.(chunk.toString('utf8'));
    kept = Buffer.concat([kept, chunk.subarray(-limit)]).subarray(-limit);
  });
  return () => kept.toString('utf8');
}
