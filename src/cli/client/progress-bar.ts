import type { Progress } from '../../core/call.ts';
import { printable } from '../table.ts';

const WIDTH = 24;
/** Takes the line away that the cursor is on. */
export const CLEAR = '\r\u001B[K';

/** Something that is written to, and whether it is a terminal. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Whether a screen shows colours, and the person wants them. */
export function hasColours({ isTTY }: Screen, env: NodeJS.ProcessEnv = process.env): boolean {
  return isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

/** How many letters fit into a line; a terminal that does not know its width says 0. */
export function widthOf({ columns = 0 }: Screen): number {
  return columns > 0 ? columns : 80;
}

/** Shows how far a call is, on one line that is drawn again. */
export interface ProgressBar {
  show(progress: Progress): void;
  /** Takes the line away. */
  clear(): void;
}

/** Makes a bar; `now` tells the time in milliseconds. */
export function createProgressBar(screen: Screen, now: () => number): ProgressBar {
  let began: { readonly at: number; readonly progress: number } | undefined;
  let isShown = false;
  return {
    show(progress) {
      began ??= { at: now(), progress: progress.progress };
      const line = describeProgress(progress, {
        ms: now() - began.at,
        done: progress.progress - began.progress,
      });
      isShown = true;
      screen.write(
        `${CLEAR}${Array.from(line)
          .slice(0, widthOf(screen) - 1)
          .join('')}`,
      );
    },
    clear() {
      if (isShown) screen.write(CLEAR);
      isShown = false;
    },
  };
}

/** One line: the bar, the share, the rate and the time left, as far as they are known. */
export function describeProgress(
  { progress, total, message }: Progress,
  since: { readonly ms: number; readonly done: number },
): string {
  const share = total !== undefined && total > 0 ? Math.min(1, Math.max(0, progress / total)) : undefined;
  const rate = since.ms > 0 && since.done > 0 ? since.done / (since.ms / 1000) : undefined;
  const left = rate !== undefined && total !== undefined ? Math.max(0, total - progress) / rate : undefined;
  return [
    share === undefined ? round(progress) : `${bar(share)} ${Math.floor(share * 100)}%`,
    ...(rate === undefined ? [] : [`${round(rate)}/s`]),
    ...(left === undefined ? [] : [`${duration(left)} left`]),
    ...(message === undefined ? [] : [printable(message)]),
  ].join('  ');
}

function bar(share: number): string {
  const full = Math.round(share * WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}]`;
}

function round(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}
