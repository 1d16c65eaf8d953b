import { ToolcribError } from '../../base/errors.ts';
import { pinnedThing, type SeenDefinition } from '../../store/pin.ts';
import { ask } from '../client/ask.ts';
import {
  operatorName,
  operatorRow,
  withDeployment,
  type Deployment,
  type DeploymentFlags,
} from '../deployment.ts';
import { formatJson, printable } from '../table.ts';
import { choosePins, factsOfPin, heldDefinitions, nameOf, type ChosenPin } from './choose.ts';
import { describePin } from './diff.ts';

/** Options of `toolcrib pins approve`. */
export interface ApprovePinFlags extends DeploymentFlags {
  readonly all?: boolean;
  readonly digest?: readonly string[];
  readonly yes?: boolean;
}

type HeldPin = ChosenPin & { readonly held: SeenDefinition };

/** `toolcrib pins approve`: lets tools and skills be used as they are held, and nothing that is held later. */
export async function approvePins(which: string | undefined, flags: ApprovePinFlags): Promise<void> {
  const { all: isAll, digest } = flags;
  if (which === undefined && !isAll && !digest)
    throw new ToolcribError(
      'invalid_setup',
      'Name a server, a tool (SERVER.TOOL) or a skill (SERVER.ADDRESS), or say --all.',
    );
  await withDeployment(flags, async (deployment) => {
    const all = await deployment.store.pins.list();
    const held = choosePins(all, which).filter((pin): pin is HeldPin => pin.held !== undefined);
    const chosen = digest ? withDigests(held, digest) : held;
    if (chosen.length === 0) {
      process.stdout.write(flags.json ? formatJson([]) : 'Nothing is held.\n');
      return;
    }
    if (!flags.json) process.stdout.write(chosen.map((pin) => describePin(pin, all)).join('\n'));
    if (!(await agrees(chosen, flags))) {
      process.stdout.write('Nothing was approved.\n');
      return;
    }
    await approveEach(chosen, deployment, flags);
  });
}

// The operator has seen the named definition; anything newer has another digest.
function withDigests(held: readonly HeldPin[], digests: readonly string[]): readonly HeldPin[] {
  return [...new Set(digests)].flatMap((digest) => {
    const found = held.filter((pin) => pin.held.digest === digest);
    if (found.length > 0) return found;
    throw new ToolcribError(
      'invalid_setup',
      `Nothing with the digest "${printable(digest).slice(0, 64)}" is held: it was approved, or is another one by now; see: toolcrib pins diff`,
    );
  });
}

async function agrees(chosen: readonly HeldPin[], { yes, digest, json }: ApprovePinFlags): Promise<boolean> {
  if (yes || digest) return true;
  const what = chosen.length === 1 ? 'this definition' : `these ${chosen.length} definitions`;
  const answer = json ? undefined : await ask(`Approve ${what}? [y/N] `);
  if (answer !== undefined) return /^y(?:es)?$/i.test(answer.trim());
  throw new ToolcribError(
    'invalid_setup',
    'Nobody can be asked here: name what you have seen with --digest, or approve what is printed with --yes.',
  );
}

async function approveEach(
  chosen: readonly HeldPin[],
  { store }: Deployment,
  { json }: ApprovePinFlags,
): Promise<void> {
  const approved: object[] = [];
  for (const held of heldDefinitions(chosen)) {
    const { server, tool, accounts, digest } = held;
    const did = `${pinnedThing(held).kind} approved`;
    const facts = { did, ...factsOfPin(held), accounts, digest, uid: process.getuid?.() };
    const approval = { digest, by: operatorName(), at: Date.now() };
    const pins = await store.pins.approve({ server, tool }, approval, operatorRow(facts));
    if (pins.length === 0)
      throw new ToolcribError(
        'invalid_setup',
        `${nameOf(held)} has changed meanwhile; see: toolcrib pins diff`,
      );
    approved.push({ ...factsOfPin(held), accounts, digest });
    if (!json) process.stdout.write(`${nameOf(held)} is approved.\n`);
  }
  if (json) process.stdout.write(formatJson(approved, 2));
}
