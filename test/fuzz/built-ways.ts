import type { Random } from '../faults/scenario.ts';
import { Built } from './built.ts';
import { CASE_MS, type FuzzCase, type Problem, type Step, type Way } from './case.ts';
import { brokenHead, script } from './connections.ts';
import { judge, judgeAnswer } from './verdict.ts';
import { mutatedMessage, unanswered } from './ways.ts';
import { Wire } from './wire.ts';

/** Mutated messages to the built command, over connections that are kept; `sabotage` is a module that breaks it. */
export async function byHttp(sabotage?: string): Promise<Way> {
  const built = await Built.start(sabotage);
  const idle: Wire[] = [];
  const exchange = async (step: Step, wire: Wire): Promise<Problem[] | undefined> => {
    wire.replies.length = 0;
    wire.sent = 1;
    wire.write(built.bytesOf(step));
    if (!(await wire.answered(CASE_MS, step.isStream))) {
      wire.hangUp();
      return [unanswered];
    }
    if (wire.garbage !== undefined) return [{ kind: 'garbage', text: wire.garbage }];
    const reply = wire.replies[0] ?? wire.begun;
    if (!reply) return undefined;
    if (wire.replies.length === 1 && !wire.isClosed) idle.push(wire);
    else wire.hangUp();
    return judge(step.body, reply);
  };
  return {
    ...builtWay(built, { name: 'http', atOnce: 32, make: mutatedMessage }),
    async attempt({ steps }) {
      const kept = idle.pop();
      // The server may just have closed a connection that nothing was sent over.
      const found = kept && (await exchange(steps[0]!, kept));
      return found ?? (await exchange(steps[0]!, new Wire(built.port))) ?? [hungUp];
    },
  };
}

/** Broken heads to the built command, a connection each. */
export async function byHeads(): Promise<Way> {
  const built = await Built.start();
  return builtWay(built, { name: 'heads', atOnce: 32, make: brokenHead });
}

/** Connections to the built command on which requests are sent ahead, in parts, and left. */
export async function byStreams(): Promise<Way> {
  const built = await Built.start();
  return builtWay(built, { name: 'streams', atOnce: 16, make: script });
}

const hungUp: Problem = { kind: 'hung up', text: 'on a whole request, without an answer' };

interface BuiltWay {
  readonly name: string;
  readonly atOnce: number;
  readonly make: (random: Random) => FuzzCase;
}

function builtWay(built: Built, { name, atOnce, make }: BuiltWay): Way {
  return {
    name,
    atOnce,
    make,
    attempt: (fuzzed) => play(built, fuzzed),
    accidents() {
      const decline = built.decline();
      return decline ? [decline] : [];
    },
    renew: () => built.renew(),
    close: () => built.close(),
  };
}

// Plays a script, and sees to it that everything is answered or closed in time.
async function play(built: Built, { steps, ending }: FuzzCase): Promise<Problem[]> {
  const deadline = performance.now() + CASE_MS;
  const left = (): number => Math.max(1, deadline - performance.now());
  const wires = new Map<number, { readonly wire: Wire; readonly steps: Step[] }>();
  try {
    for (const step of steps) {
      const used = wires.get(step.on ?? 0) ?? { wire: new Wire(built.port), steps: [] };
      wires.set(step.on ?? 0, used);
      used.wire.sent++;
      used.steps.push(step);
      used.wire.write(built.bytesOf(step));
      if (step.isAhead || step.isPartial) continue;
      if (!(await used.wire.answered(left(), step.isStream))) return [unanswered];
    }
    for (const { wire, steps: own } of wires.values()) {
      if (ending === 'hang-up') continue;
      if (ending === 'half-close') wire.halfClose();
      const isOver =
        ending === 'half-close' ? await wire.until(() => false, left()) : await wire.answered(left());
      if (!isOver) return [ending === 'half-close' ? notClosed : unanswered];
      if (ending === 'answered' && !own.some(({ isPartial }) => isPartial) && isCutShort(wire))
        return [hungUp];
    }
    return [...wires.values()].flatMap(({ wire, steps: own }) => verdict(wire, own));
  } finally {
    for (const { wire } of wires.values()) wire.hangUp();
  }
}

const notClosed: Problem = {
  kind: 'not closed',
  text: `within ${CASE_MS} ms of the end of what the client sent`,
};

// After a refusal the server may close, and leave what came behind it unanswered.
function isCutShort({ isClosed, replies, sent }: Wire): boolean {
  return isClosed && replies.length < sent && (replies.at(-1)?.status ?? 200) < 400;
}

function verdict({ garbage, replies }: Wire, steps: readonly Step[]): Problem[] {
  if (garbage !== undefined) return [{ kind: 'garbage', text: garbage }];
  return replies.flatMap((reply, index) => {
    const step = steps[index];
    // What is not one message as it stands, or is answered elsewhere, says nothing about what it may be answered with.
    const isMessage = step && step.body.length > 0 && step.line !== '' && !step.isPartial;
    if (!isMessage || step.line?.includes('{messages}')) return judgeAnswer(reply);
    return judge(step.body, reply);
  });
}
