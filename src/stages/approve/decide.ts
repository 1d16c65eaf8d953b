import { z } from 'zod';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import { isAbsent } from '../../core/absent-tool.ts';
import type { ToolCall } from '../../core/call.ts';
import { ownerOf } from '../../core/caller.ts';
import { permitCall } from '../../core/essentials/permit.ts';
import { checkArguments } from '../../core/essentials/validate.ts';
import type { Result } from '../../core/result.ts';
import type { Next, Stage } from '../../core/stage.ts';
import type { Tool } from '../../core/tool.ts';
import { AskedPerson } from './asked-person.ts';
import type { OnToolCall } from './decision.ts';
import { Grants } from './grants.ts';
import { safetyModes, verdictOn } from './safety-mode.ts';
import { isAgreedTo } from './subject.ts';

/** When a person decides, and for how long one is waited for. */
export const decideOptions = z.strictObject({
  modes: z
    .array(z.enum(safetyModes))
    .min(1)
    .default(['balanced'])
    .describe('How freely tools run; of several modes, the strictest counts for each call.'),
  waitSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(300)
    .describe('How long a person is waited for; without an answer nothing is done.'),
});

/** What the stage needs to ask, and where it remembers. */
export interface DecideParts {
  /** Asks a person; without it, nobody can be asked, and what needs a person is refused. */
  readonly onToolCall?: OnToolCall | undefined;
  readonly grants?: Grants;
  /** The tools that "always" for a server covers: those it has now. */
  readonly toolsOf?: (server: string | undefined) => Awaitable<readonly Tool[]>;
  readonly clock?: Clock;
}

/**
 * Lets a call run once a person has agreed to it, while the call waits. Who decides sees the arguments that would be
 * sent, and may change them, deny the call, or say yes for a while. Hints count only where they can be believed.
 */
export function decide(options: z.input<typeof decideOptions> = {}, parts: DecideParts = {}): Stage {
  const { modes, waitSeconds } = decideOptions.parse(options, { jitless: true });
  const { onToolCall, clock = systemClock, grants = new Grants(clock), toolsOf = () => [] } = parts;
  const person = onToolCall && new AskedPerson(onToolCall, { clock, waitMs: waitSeconds * 1000 });
  const deciding = { person, grants, toolsOf };
  return {
    name: 'decide',
    wrap(tool, next) {
      if (isAbsent(tool)) return next;
      switch (verdictOn(tool, modes)) {
        case 'run':
          return next;
        case 'refuse':
          return (call) => (isAgreedTo(call.record) ? next(call) : refuseRestricted(tool));
        case 'ask':
          return (call) => (isAgreedTo(call.record) ? next(call) : decideOn(call, next, deciding));
      }
    },
  };
}

interface Deciding extends Required<Pick<DecideParts, 'grants' | 'toolsOf'>> {
  readonly person: AskedPerson | undefined;
}

async function decideOn(call: ToolCall, next: Next, deciding: Deciding): Promise<Result> {
  const { tool, caller, record } = call;
  const { person, grants, toolsOf } = deciding;
  const owner = ownerOf(caller);
  const granted = (): string | undefined => grants.find(owner, tool, call.arguments)?.id;
  const known = granted();
  if (known !== undefined) return next(approved(call, known));
  if (!person) throw nobodyToAsk(tool);
  const siblings = await toolsOf(tool.place?.source);
  const answer = await person.ask(call, { granted, siblings });
  record.approval = 'grant' in answer ? answer.grant : 'person';
  if ('grant' in answer || answer.kind === 'allow') return next(call);
  switch (answer.kind) {
    case 'deny':
      throw denied(tool, answer.reason);
    case 'allowAlways': {
      const { scope, minutes } = answer;
      const grant = grants.add({ owner, scope, tool, arguments: call.arguments, siblings, minutes });
      return next(approved(call, grant?.id ?? 'person'));
    }
    case 'edit':
      record.approval = 'person, edited';
      return runEdited(call, answer.arguments, next);
  }
}

function approved(call: ToolCall, how: string): ToolCall {
  call.record.approval = how;
  return call;
}

// What was checked before were the arguments of the model.
async function runEdited(call: ToolCall, edited: ToolCall['arguments'], next: Next): Promise<Result> {
  const { tool, caller } = call;
  const args = await checkArguments(tool, edited);
  await permitCall(tool, args, caller);
  const changed = { ...call, arguments: args };
  return withNote(await next(changed), `[a person changed the arguments to ${JSON.stringify(args)}]`);
}

// Otherwise the model would take the result for the one of its own arguments.
function withNote(result: Result, text: string): Result {
  if (result.kind === 'needs_input') return result;
  const data =
    result.data === undefined ? [] : [{ type: 'text' as const, text: JSON.stringify(result.data) }];
  return { ...result, content: [...(result.content ?? data), { type: 'text', text }] };
}

const MAX_REASON = 1_000;

function denied({ name }: Tool, reason: string | undefined): ToolcribError {
  const why =
    reason === undefined || reason === '' ? '' : `, and says: ${JSON.stringify(reason.slice(0, MAX_REASON))}`;
  return new ToolcribError(
    'refused',
    `Nothing was done: the person you work for denied this call of ${name}${why}. Do not repeat it; go on without it, or ask how to go on.`,
  );
}

function nobodyToAsk({ name }: Tool): ToolcribError {
  return new ToolcribError(
    'refused',
    `Nothing was done: a person has to agree to calls of ${name}, and nobody can be asked here. Go on without it.`,
  );
}

function refuseRestricted({ name }: Tool): never {
  throw new ToolcribError(
    'refused',
    `Nothing was done: ${name} is not proven to be read-only, and this run is restricted to tools that are. Go on without it.`,
  );
}
