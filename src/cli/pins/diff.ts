import { parseJson } from '../../base/parse-json.ts';
import { differencesBetween, type Difference } from '../../stages/pin/differences.ts';
import { scanDefinition, type ScanFinding } from '../../stages/pin/scan.ts';
import type { Pin } from '../../store/pin.ts';
import { readDeployment, type DeploymentFlags } from '../deployment.ts';
import { formatJson, formatTime, printable } from '../table.ts';
import { escapeUnseen } from '../../base/escape-unseen.ts';
import { choosePins, factsOfPin, nameOf, stateOf, type ChosenPin } from './choose.ts';

/** `toolcrib pins diff`: held definitions, and how they differ from the pinned ones. */
export async function diffPins(which: string | undefined, flags: DeploymentFlags): Promise<void> {
  const all = await readDeployment(flags, (operations) => operations.listPins());
  const chosen = choosePins(all, which);
  const isOne = which?.includes('.') === true;
  // One that is named is shown even if nothing about it is held.
  const shown = isOne ? chosen : chosen.filter(({ held }) => held);
  if (flags.json)
    process.stdout.write(
      formatJson(
        shown.map((pin) => entryOf(pin, all)),
        2,
      ),
    );
  else if (shown.length === 0) process.stdout.write('Nothing is held.\n');
  else process.stdout.write(shown.map((pin) => describePin(pin, all)).join('\n'));
}

/** A pin for a person: the differences line by line, with nothing invisible, and the suspicious parts. */
export function describePin(pin: ChosenPin, all: readonly Pin[]): string {
  const { pinned, held } = pin;
  const since = formatTime(held?.at ?? pinned?.at);
  const lines = [`${nameOf(pin)}  ${stateOf(pin)} since ${since}`];
  lines.push(...comparisonOf(pin).flatMap(linesOf));
  lines.push(
    ...findingsOf(pin, all).map(
      ({ kind, path, text }) => `  ! ${kind} in ${printable(path)}: ${printable(text)}`,
    ),
  );
  const digest = held?.digest ?? pinned?.digest ?? '';
  lines.push(`  digest ${digest}`);
  return `${lines.join('\n')}\n`;
}

function entryOf(pin: ChosenPin, all: readonly Pin[]): object {
  const { accounts, pinned, held } = pin;
  const shown = held ?? pinned;
  return {
    ...factsOfPin(pin),
    accounts,
    state: stateOf(pin),
    digest: shown?.digest,
    differences: comparisonOf(pin),
    findings: findingsOf(pin, all),
    ...(pinned && { pinned: parseJson(pinned.definition) }),
    ...(held && { held: parseJson(held.definition) }),
  };
}

function comparisonOf({ pinned, held }: Pin): readonly Difference[] {
  if (held) return differencesBetween(pinned?.definition, held.definition);
  return pinned ? differencesBetween(undefined, pinned.definition) : [];
}

function findingsOf({ pinned, held }: Pin, all: readonly Pin[]): readonly ScanFinding[] {
  const shown = held ?? pinned;
  const names = all.map(({ tool }) => tool);
  return shown ? scanDefinition(shown.definition, names) : [];
}

// Texts are JSON, so that line breaks are seen; invisible characters are written as escapes.
function linesOf({ path, before, after }: Difference): readonly string[] {
  const place = printable(path);
  return [
    ...(before === undefined ? [] : [`  - ${place}: ${escapeUnseen(before)}`]),
    ...(after === undefined ? [] : [`  + ${place}: ${escapeUnseen(after)}`]),
  ];
}
