import { operatorRow, withDeployment, type DeploymentFlags } from '../deployment.ts';
import { formatJson } from '../table.ts';
import { pinnedThing } from '../../store/pin.ts';
import { choosePins, factsOfPin, heldDefinitions, nameOf } from './choose.ts';

/** `toolcrib pins dismiss`: forgets held definitions, such as after a server took a change back. */
export async function dismissPins(which: string, flags: DeploymentFlags): Promise<void> {
  await withDeployment(flags, async ({ store }) => {
    const dismissed: object[] = [];
    for (const held of heldDefinitions(choosePins(await store.pins.list(), which))) {
      const { server, tool, accounts, digest } = held;
      const did = `held ${pinnedThing(held).kind} dismissed`;
      const facts = { did, ...factsOfPin(held), accounts, digest, uid: process.getuid?.() };
      // Definitions that are newer than the listed ones stay.
      if (!(await store.pins.dismiss({ server, tool }, digest, operatorRow(facts)))) continue;
      dismissed.push({ ...factsOfPin(held), accounts, digest });
      if (!flags.json) process.stdout.write(`${nameOf(held)} is dismissed.\n`);
    }
    if (flags.json) process.stdout.write(formatJson(dismissed, 2));
    else if (dismissed.length === 0) process.stdout.write('Nothing is held.\n');
  });
}
