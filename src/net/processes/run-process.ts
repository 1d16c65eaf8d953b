import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { systemClock } from '../../base/clock.ts';
import { endsWithin } from '../../base/within.ts';
import { coverInherited } from './inherited-descriptors.ts';
import { endGroup, endWithThisProcess, GRACE_MS } from './group.ts';

/** One run of a program. */
export interface ProcessPlan {
  readonly file: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How much of each output is kept. */
  readonly maxOutputBytes: number;
}

/** Why a program was ended early. */
export type Stopped = 'timed_out' | 'flooded' | 'cancelled';

/** How a program ended. */
export interface ProcessEnd {
  readonly stopped: Stopped | undefined;
  readonly exitCode: number | null;
  /** The signal that ended it, if one did. */
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly isCut: boolean;
}

/** How much output over the limit is discarded before the program is ended. */
const FLOOD_BYTES = 16 * 1024 * 1024;

/** Runs a program without a shell; afterwards no process of its group is left running. */
export async function runProcess(plan: ProcessPlan, signal: AbortSignal): Promise<ProcessEnd> {
  signal.throwIfAborted();
  const child = start(plan);
  // Registered at once: a program that cannot be started, or later not be killed, emits an error event.
  child.on('error', () => {});
  const [exited, closed] = [once(child, 'exit'), once(child, 'close')];
  // Avoids unhandled rejections: both reject if the program cannot be started, and only one is awaited.
  for (const ended of [exited, closed]) ended.catch(() => {});
  const { pid } = child;
  let stopped: Stopped | undefined;
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> | undefined => (ending ??= pid === undefined ? undefined : endGroup(pid));
  const stop = (reason: Stopped): void => {
    stopped ??= reason;
    void end();
  };
  const flood = (): void => stop('flooded');
  const outputs = outputsOf(child).map((stream) => keep(stream, plan.maxOutputBytes, flood));
  const cancel = (): void => stop('cancelled');
  signal.addEventListener('abort', cancel);
  const stopTimer = systemClock.after(plan.timeoutMs, () => stop('timed_out'));
  const forget = pid === undefined ? undefined : endWithThisProcess(pid);
  try {
    const [exitCode, signalName] = (await exited) as [number | null, string | null];
    await end();
    await endsWithin(GRACE_MS, closed);
    const [stdout, stderr] = outputs.map((output) => output.text());
    const isCut = outputs.some((output) => output.isCut());
    return { stopped, exitCode, signal: signalName, stdout: stdout!, stderr: stderr!, isCut };
  } finally {
    stopTimer();
    signal.removeEventListener('abort', cancel);
    forget?.();
    // A process that left the group may keep the pipe open for ever.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

function start({ file, args, folder, env }: ProcessPlan): ChildProcess {
  return spawn(file, args, {
    cwd: folder,
    // Node.js passes this variable on unless it is set, and also reads inherited properties.
    env: Object.assign(Object.create(null) as object, { NODE_V8_COVERAGE: undefined }, env),
    shell: false,
    // A process group of its own, so that everything it starts can be ended with it.
    detached: true,
    stdio: coverInherited(['ignore', 'pipe', 'pipe']),
  });
}

// Without free descriptors the streams are missing, whatever the types say.
function outputsOf({ stdout, stderr }: Partial<Pick<ChildProcess, 'stdout' | 'stderr'>>): Readable[] {
  return [stdout, stderr].filter((stream) => stream !== undefined && stream !== null);
}

interface Kept {
  isCut(): boolean;
  text(): string;
}

function keep(stream: Readable, limit: number, onFlood: () => void): Kept {
  const chunks: Buffer[] = [];
  let total = 0;
  stream.on('data', (chunk: Buffer) => {
    if (total < limit) chunks.push(chunk.subarray(0, limit - total));
    total += chunk.length;
    if (total > limit + FLOOD_BYTES) onFlood();
  });
  // A broken pipe cannot be repaired; the output before it is used.
  stream.on('error', () => {});
  const isCut = (): boolean => total > limit;
  return {
    isCut,
    text() {
      // A character that was cut at the end is left out; anything else that is not UTF-8 becomes U+FFFD.
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks), {
        stream: isCut(),
      });
      return isCut() ? `${text}\n[cut here: ${limit} of ${total} bytes are shown]` : text;
    },
  };
}
