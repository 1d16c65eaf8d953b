import type { Path } from '../../config/yaml-text.ts';
import type { Config } from './config.ts';

type Ready = Config['tools']['ready'];

/** The options of one tool, whether one or a list is written. */
export type EntryOf<N extends keyof Ready> = Exclude<NonNullable<Ready[N]>, readonly unknown[]>;

/** One entry of `tools.ready`, and its place. */
export interface ReadyEntry<N extends keyof Ready> {
  readonly path: Path;
  readonly options: EntryOf<N>;
}

/** The entries under one name of `tools.ready`: none, one, or several if it is a list. */
export function readyEntries<N extends keyof Ready>(ready: Ready, name: N): readonly ReadyEntry<N>[] {
  const written = ready[name];
  const path = ['tools', 'ready', name];
  if (written === undefined) return [];
  if (!Array.isArray(written)) return [{ path, options: written as EntryOf<N> }];
  const entries: readonly unknown[] = written;
  return entries.map((options, index) => ({ path: [...path, index], options: options as EntryOf<N> }));
}
