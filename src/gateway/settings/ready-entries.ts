import type { Path } from '../../config/yaml-text.ts';
import type { Config } from './config.ts';

type Ready = Config['tools']['ready'];

/** The options of one tool out of those that may be a list. */
export type EntryOf<N extends keyof Ready> = Exclude<NonNullable<Ready[N]>, readonly unknown[]>;

/** One entry of `tools.ready`, and where it stands. */
export interface ReadyEntry<N extends keyof Ready> {
  readonly path: Path;
  readonly options: EntryOf<N>;
}

/** The entries under one name of `tools.ready`: one, several where it is a list, or none. */
export function readyEntries<N extends keyof Ready>(ready: Ready, name: N): readonly ReadyEntry<N>[] {
  const written = ready[name];
  const path = ['tools', 'ready', name];
  if (written === undefined) return [];
  if (!Array.isArray(written)) return [{ path, options: written as EntryOf<N> }];
  const entries: readonly unknown[] = written;
  return entries.map((options, index) => ({ path: [...path, index], options: options as EntryOf<N> }));
}
