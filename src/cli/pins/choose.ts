import { ToolcribError } from '../../base/errors.ts';
import { pinnedThing, type Pin, type PinTool } from '../../store/pin.ts';
import { printable } from '../table.ts';

/** A pin, and all accounts that it is the same for; none where all callers share one. */
export interface ChosenPin extends Pin {
  readonly accounts: readonly string[];
}

/** The pins that `SERVER`, `SERVER.TOOL` or `SERVER.ADDRESS` names, or all; one for accounts that see the same. */
export function choosePins(all: readonly Pin[], which: string | undefined): readonly ChosenPin[] {
  if (which === undefined) return withAccounts(all);
  // The name of a server has no dots, that of a tool and the address of a skill may.
  const dot = which.indexOf('.');
  const server = dot < 0 ? which : which.slice(0, dot);
  const tool = dot < 0 ? undefined : which.slice(dot + 1);
  const chosen = all.filter(
    (pin) => pinnedThing(pin).server === server && (tool === undefined || pin.tool === tool),
  );
  if (chosen.length > 0) return withAccounts(chosen);
  const what = tool === undefined ? 'server' : 'tool or skill';
  throw new ToolcribError(
    'invalid_setup',
    `No ${what} "${printable(which).slice(0, 160)}" is pinned or held; see: toolcrib pins list`,
  );
}

/** The subject of a pin, for programs: the server, and the tool or the skill. */
export function factsOfPin(place: PinTool): Readonly<Record<string, string>> {
  const { server, kind, name } = pinnedThing(place);
  return { server, [kind]: name };
}

/** The name of a tool or skill, and for whom it is pinned or held where that is not everybody. */
export function nameOf({ accounts, ...place }: Omit<HeldDefinition, 'digest'>): string {
  const { server, name } = pinnedThing(place);
  return printable(`${server}.${name}${accounts.length > 0 ? ` for ${accounts.join(', ')}` : ''}`);
}

/** A definition that is held, for all accounts that it is held for. */
export interface HeldDefinition extends PinTool {
  readonly accounts: readonly string[];
  readonly digest: string;
}

/** The held definitions among some pins, each of them once. */
export function heldDefinitions(pins: readonly ChosenPin[]): readonly HeldDefinition[] {
  const found = new Map<string, HeldDefinition>();
  for (const { server, tool, accounts, held } of pins) {
    if (!held) continue;
    const key = JSON.stringify([server, tool, held.digest]);
    const all = [...(found.get(key)?.accounts ?? []), ...accounts];
    found.set(key, { server, tool, accounts: all, digest: held.digest });
  }
  return [...found.values()];
}

function withAccounts(pins: readonly Pin[]): readonly ChosenPin[] {
  const groups = new Map<string, ChosenPin>();
  for (const pin of pins) {
    const { server, tool, account, pinned, held } = pin;
    // Without an account is apart: it is everybody else.
    const key = JSON.stringify([server, tool, account === '', pinned?.digest, pinned?.by, held?.digest]);
    const accounts = account === '' ? [] : [...(groups.get(key)?.accounts ?? []), account];
    groups.set(key, { ...(groups.get(key) ?? pin), accounts });
  }
  return [...groups.values()];
}

/** The state of a pin, in words. */
export function stateOf({ pinned, held }: Pin): 'pinned' | 'changed, held' | 'new, held' {
  if (!held) return 'pinned';
  return pinned ? 'changed, held' : 'new, held';
}
