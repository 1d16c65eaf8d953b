import { operatorRow, withDeployment, type DeploymentFlags } from '../deployment.ts';
import { formatJson, printable } from '../table.ts';
import { choosePins } from './choose.ts';

/** `toolcrib pins dismiss`: takes what is held off the list, such as after a server took a change back. */
export async function dismissPins(which: string, flags: DeploymentFlags): Promise<void> {
  await withDeployment(flags, async ({ store }) => {
    const dismissed: object[] = [];
    for (const { server, tool, held } of choosePins(await store.pins.list(), which)) {
      if (!held) continue;
      const { digest } = held;
      const facts = { did: 'held tool dismissed', server, tool, digest, uid: process.getuid?.() };
      // What is newer than what was listed stays.
      if (!(await store.pins.dismiss({ server, tool }, digest, operatorRow(facts)))) continue;
      dismissed.push({ server, tool, digest });
      if (!flags.json) process.stdout.write(`${printable(`${server}.${tool}`)} is dismissed.\n`);
    }
    if (flags.json) process.stdout.write(formatJson(dismissed, 2));
    else if (dismissed.length === 0) process.stdout.write('Nothing is held.\n');
  });
}
