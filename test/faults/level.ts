import { quantile } from './scenario.ts';

/** What a server held at one moment. */
export interface Level {
  /** The longest delay of the event loop since the last look. */
  readonly blockMs: number;
  readonly rssMb: number;
  readonly heapMb: number;
  readonly descriptors: number;
  /** What the tables hold that are not the record, which only grows. */
  readonly keptMb: number;
}

// A third more, and some for the noise of a collector that has no reason to hurry.
const GROWTH = 1.34;
const SLACK = { rssMb: 64, heapMb: 32, descriptors: 32, keptMb: 8 } satisfies Partial<Level>;
const ENOUGH = 6;

/** What did not level out: its last third is well above its middle one. The first third is when everything fills up. */
export function growing(levels: readonly Level[]): string[] {
  if (levels.length < ENOUGH) return [];
  const third = Math.floor(levels.length / 3);
  return (Object.keys(SLACK) as (keyof typeof SLACK)[]).flatMap((what) => {
    const middleOf = (part: readonly Level[]): number =>
      quantile(
        part.map((level) => level[what]),
        0.5,
      );
    const [before, after] = [middleOf(levels.slice(third, 2 * third)), middleOf(levels.slice(-third))];
    return after > before * GROWTH + SLACK[what]
      ? [`${what} goes on growing: ${Math.round(before)} in the middle, ${Math.round(after)} at the end`]
      : [];
  });
}
