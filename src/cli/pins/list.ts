import type { Pin } from '../../store/pin.ts';
import { lookUp, type DeploymentFlags } from '../deployment.ts';
import { formatJson, formatTable, formatTime } from '../table.ts';
import { choosePins, stateOf } from './choose.ts';

/** `toolcrib pins list`: the tools of other servers whose definitions are pinned or held. */
export async function listPins(which: string | undefined, flags: DeploymentFlags): Promise<void> {
  const pins = choosePins(await lookUp(flags, (operations) => operations.listPins()), which);
  if (flags.json) {
    process.stdout.write(formatJson(pins.map(factsOf), 2));
    return;
  }
  const rows = pins.map((pin) => [
    pin.server,
    pin.tool,
    stateOf(pin),
    formatTime(pin.held?.at ?? pin.pinned?.at),
    pin.pinned?.by ?? (pin.pinned ? 'first use' : '-'),
  ]);
  const headings = ['SERVER', 'TOOL', 'STATE', 'SINCE', 'APPROVED BY'];
  process.stdout.write(formatTable(headings, rows, 'No tool of another server was seen yet.'));
}

function factsOf(pin: Pin): object {
  const { server, tool, pinned, held } = pin;
  return {
    server,
    tool,
    state: stateOf(pin),
    ...(pinned && { pinned: { digest: pinned.digest, at: pinned.at, by: pinned.by ?? null } }),
    ...(held && { held: { digest: held.digest, at: held.at } }),
  };
}
