import { ToolcribError } from '../../base/errors.ts';
import type { Pin } from '../../store/pin.ts';
import { printable } from '../table.ts';

/** The pins that `SERVER` or `SERVER.TOOL` names, all if nothing is named. */
export function choosePins(all: readonly Pin[], which: string | undefined): readonly Pin[] {
  if (which === undefined) return all;
  // The name of a server has no dots, that of a tool may.
  const dot = which.indexOf('.');
  const server = dot < 0 ? which : which.slice(0, dot);
  const tool = dot < 0 ? undefined : which.slice(dot + 1);
  const chosen = all.filter((pin) => pin.server === server && (tool === undefined || pin.tool === tool));
  if (chosen.length > 0) return chosen;
  const what = tool === undefined ? 'server' : 'tool';
  throw new ToolcribError(
    'invalid_setup',
    `No ${what} "${printable(which).slice(0, 160)}" is pinned or held; see: toolcrib pins list`,
  );
}

/** How a pin stands, in words. */
export function stateOf({ pinned, held }: Pin): 'pinned' | 'changed, held' | 'new, held' {
  if (!held) return 'pinned';
  return pinned ? 'changed, held' : 'new, held';
}
