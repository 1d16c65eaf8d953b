import { readDeployment, type DeploymentFlags } from '../deployment.ts';
import { formatJson, formatTable, formatTime } from '../table.ts';
import { pinnedThing } from '../../store/pin.ts';
import { choosePins, factsOfPin, stateOf, type ChosenPin } from './choose.ts';

/** `toolcrib pins list`: the tools and skills of other servers whose definitions are pinned or held. */
export async function listPins(which: string | undefined, flags: DeploymentFlags): Promise<void> {
  const pins = choosePins(await readDeployment(flags, (operations) => operations.listPins()), which);
  if (flags.json) {
    process.stdout.write(formatJson(pins.map(entryOf), 2));
    return;
  }
  const rows = pins.map((pin) => [
    pinnedThing(pin).server,
    pin.tool,
    shortList(pin.accounts),
    stateOf(pin),
    formatTime(pin.held?.at ?? pin.pinned?.at),
    pin.pinned?.by ?? (pin.pinned ? 'first use' : '-'),
  ]);
  const headings = ['SERVER', 'TOOL OR SKILL', 'ACCOUNT', 'STATE', 'SINCE', 'APPROVED BY'];
  process.stdout.write(formatTable(headings, rows, 'No tool or skill of another server was seen yet.'));
}

// The rest is in the JSON.
const MAX_NAMED = 3;

function shortList(accounts: readonly string[]): string {
  if (accounts.length === 0) return '-';
  const more = accounts.length - MAX_NAMED;
  return `${accounts.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function entryOf(pin: ChosenPin): object {
  const { accounts, pinned, held } = pin;
  return {
    ...factsOfPin(pin),
    accounts,
    state: stateOf(pin),
    ...(pinned && { pinned: { digest: pinned.digest, at: pinned.at, by: pinned.by ?? null } }),
    ...(held && { held: { digest: held.digest, at: held.at } }),
  };
}
