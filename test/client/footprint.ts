import { createHook } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** What a piece of work has made and not let go of yet. */
export interface Footprint {
  /** Sockets, timers (also unref'ed ones), processes, pipes, watchers, and listeners of this process. */
  left(): string[];
  /** The same, once it does not get less any more: sockets and processes end a moment after they are closed. */
  leftInTheEnd(): Promise<string[]>;
}

const KINDS: ReadonlySet<string> = new Set([
  'FSEVENTWRAP',
  'MESSAGEPORT',
  'PIPEWRAP',
  'PROCESSWRAP',
  'SIGNALWRAP',
  'STATWATCHER',
  'TCPSERVERWRAP',
  'TCPWRAP',
  'TLSWRAP',
  'Timeout',
  'UDPWRAP',
  'WORKER',
]);
// Less than an idle socket is kept for further use.
const PATIENCE_MS = 3_000;

/** Counts from now on, until the test ends; what was there before does not matter. */
export function measureFootprint(): Footprint {
  const made = new Map<number, string>();
  const listeners = countListeners();
  let isOwn = false;
  const hook = createHook({
    init(id, kind) {
      if (!KINDS.has(kind) || isOwn) return;
      const [first, ...further] = callersOf(new Error(kind));
      // The test runner has timers of its own.
      if (first === undefined || /node_modules\/@?vitest/.test(first)) return;
      made.set(id, [`${kind} made`, first, ...further].join(''));
    },
    destroy: (id) => void made.delete(id),
  }).enable();
  onTestFinished(() => void hook.disable());
  const left = (): string[] => {
    const now = [...countListeners()].filter(([name, count]) => count > (listeners.get(name) ?? 0));
    return [...made.values(), ...now.map(([name]) => `listener of ${String(name)}`)].toSorted();
  };
  const moment = (): Promise<void> => {
    isOwn = true;
    const over = sleep(20);
    isOwn = false;
    return over;
  };
  return {
    left,
    async leftInTheEnd() {
      const end = performance.now() + PATIENCE_MS;
      while (left().length > 0 && performance.now() < end) await moment();
      return left();
    },
  };
}

function countListeners(): Map<string | symbol, number> {
  return new Map(process.eventNames().map((name) => [name, process.listenerCount(name)]));
}

function callersOf({ stack = '' }: Error): string[] {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line) && !line.includes('footprint.ts'));
  const ours = frames.filter((line) => !line.includes('node:'));
  return (ours.length > 0 ? ours : frames).slice(0, 3).map((line) => line.replace(/^\s+at/, ' by'));
}
