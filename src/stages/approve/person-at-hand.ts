import type { Awaitable } from '../../base/awaitable.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { ToolCall } from '../../core/call.ts';
import { ownerOf, type Caller } from '../../core/caller.ts';
import type { Tool } from '../../core/tool.ts';
import { AskedPerson } from './asked-person.ts';
import { BegunCalls } from './begun-calls.ts';
import type { Approver, Consent } from './consent.ts';
import type { OnToolCall } from './decision.ts';
import { Grants } from './grants.ts';

/** The parts that are needed to ask a person at hand. */
export interface PersonParts {
  /** Asks the person; without it, calls that need a person are refused. */
  readonly onToolCall?: OnToolCall | undefined;
  readonly grants?: Grants | undefined;
  /** The tools that "always" for a server covers: those that a caller may use of it now. */
  readonly toolsOf?: ((server: string | undefined, caller: Caller) => Awaitable<readonly Tool[]>) | undefined;
  readonly clock?: Clock | undefined;
}

const PERSON = 'person';

/** Asks a person while the call waits, who may also change the call or say yes for a while. */
export class PersonAtHand implements Approver {
  readonly #person: AskedPerson | undefined;
  readonly #grants: Grants;
  readonly #begun: BegunCalls;
  readonly #toolsOf: NonNullable<PersonParts['toolsOf']>;

  constructor(parts: PersonParts, waitMs: number) {
    const { onToolCall, clock = systemClock, grants = new Grants(clock), toolsOf = () => [] } = parts;
    this.#person = onToolCall && new AskedPerson(onToolCall, { clock, waitMs });
    this.#grants = grants;
    this.#begun = new BegunCalls(clock);
    this.#toolsOf = toolsOf;
  }

  async ask(call: ToolCall): Promise<Consent> {
    const { tool, caller, record } = call;
    const owner = ownerOf(caller);
    if (record.isResumed && this.#begun.resume(call)) return { by: PERSON };
    const granted = (): string | undefined => this.#grants.find(owner, call)?.id;
    const known = granted();
    if (known !== undefined) return { by: known };
    if (!this.#person) throw nobodyToAsk(tool);
    const siblings = await this.#toolsOf(tool.place?.source, caller);
    const answer = await this.#person.ask(call, { granted, siblings });
    if ('grant' in answer) return { by: answer.grant };
    switch (answer.kind) {
      case 'allow':
        return { by: PERSON };
      case 'deny':
        return { by: PERSON, refusal: denied(tool, answer.reason) };
      case 'allowAlways': {
        const { scope, minutes } = answer;
        const grant = this.#grants.add({ owner, scope, subject: call, siblings, minutes });
        return { by: grant?.id ?? PERSON };
      }
      case 'edit':
        return { by: 'person, edited', edited: answer.arguments };
    }
  }

  goesOn(call: ToolCall, by: string): void {
    // The grant is looked up again, because it may have been revoked.
    if (by === PERSON) this.#begun.add(call);
  }
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
