import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { ToolCall } from '../../core/call.ts';
import { ownerOf } from '../../core/caller.ts';
import type { Tool } from '../../core/tool.ts';
import type { Decision, DecisionRequest, OnToolCall } from './decision.ts';
import { exactArguments, fingerprintOf } from '../fingerprint.ts';
import { makeRoomIn } from '../../core/memory/bounded-map.ts';

/** The answer of a person, in one form. */
export type PersonsAnswer =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly reason: string | undefined }
  | Extract<Decision, { readonly kind: 'allowAlways' | 'edit' }>;

/** The call was granted while it waited for its turn. */
export interface GrantedMeanwhile {
  readonly grant: string;
}

/** What a person is shown beside the call itself. */
export interface Surroundings {
  /** The grant that covers the call by now. */
  readonly granted: () => string | undefined;
  /** Every tool of the same server. */
  readonly siblings: readonly Tool[];
}

/** How a person is waited for. */
export interface AskingParts {
  readonly clock: Clock;
  readonly waitMs: number;
}

// How many calls are remembered to show differences, and how many may wait for one person.
const MAX_REMEMBERED = 1_000;
const MAX_WAITING = 100;

/** Asks a person about calls, one at a time, and waits a bounded time for each answer. */
export class AskedPerson {
  readonly #onToolCall: OnToolCall;
  readonly #parts: AskingParts;
  readonly #previous = new Map<string, ToolCall['arguments']>();
  readonly #turns = new Map<string, { waiting: number; last: Promise<unknown> }>();

  constructor(onToolCall: OnToolCall, parts: AskingParts) {
    this.#onToolCall = onToolCall;
    this.#parts = parts;
  }

  /** Asks about a call in its turn, unless a grant covers it by then. */
  async ask(call: ToolCall, { granted, siblings }: Surroundings): Promise<PersonsAnswer | GrantedMeanwhile> {
    const owner = ownerOf(call.caller);
    const turn = this.#turns.get(owner) ?? { waiting: 0, last: Promise.resolve() };
    if (turn.waiting >= MAX_WAITING)
      throw new ToolcribError('busy', 'Too many calls wait for a person; have those decided first.');
    this.#turns.set(owner, turn);
    turn.waiting++;
    const before = turn.last;
    let leave = (): void => {};
    const over = new Promise<void>((resolve) => (leave = resolve));
    turn.last = before.then(() => over);
    try {
      await call.cancellation.race(before);
      const grant = granted();
      return grant === undefined ? await this.#askNow(call, owner, siblings) : { grant };
    } finally {
      leave();
      if (--turn.waiting === 0) this.#turns.delete(owner);
    }
  }

  async #askNow(call: ToolCall, owner: string, siblings: readonly Tool[]): Promise<PersonsAnswer> {
    const { tool, cancellation } = call;
    const controller = new AbortController();
    const key = `${owner}\n${tool.name}`;
    const request = requestOf(call, { previous: this.#previous.get(key), siblings }, controller.signal);
    this.#remember(key, call.arguments);
    const { clock, waitMs } = this.#parts;
    let stop = (): void => {};
    const late = new Promise<never>((_, reject) => {
      stop = clock.after(waitMs, () => reject(noAnswer(tool, waitMs)));
    });
    // In a promise, so that a synchronous exception is caught here, too.
    const asked = Promise.resolve().then(() => this.#onToolCall(request));
    try {
      return answerOf(await cancellation.race(Promise.race([asked, late])), tool);
    } catch (error) {
      if (error instanceof ToolcribError) throw error;
      throw new ToolcribError('refused', `Nothing was done: nobody could be asked about ${tool.name}.`, {
        cause: error,
      });
    } finally {
      stop();
      controller.abort();
    }
  }

  #remember(key: string, args: ToolCall['arguments']): void {
    this.#previous.delete(key);
    makeRoomIn(this.#previous, MAX_REMEMBERED);
    this.#previous.set(key, args);
  }
}

function requestOf(
  call: ToolCall,
  {
    previous,
    siblings,
  }: { readonly previous: ToolCall['arguments'] | undefined; readonly siblings: readonly Tool[] },
  signal: AbortSignal,
): DecisionRequest {
  const { tool, arguments: args, caller, record } = call;
  return {
    id: record.id,
    tenant: caller.tenant.id,
    caller: caller.id,
    tool: tool.name,
    server: tool.place?.source,
    description: tool.description,
    // Copies, so that changes to the shown request do not change the call.
    arguments: copyOf(args),
    exactArguments: fingerprintOf(call) === undefined ? undefined : exactArguments(call),
    hints: tool.annotations ?? {},
    isTrusted: (tool.assumedHints ?? []).length === 0,
    previous: previous && copyOf(previous),
    serverTools: siblings.map(({ name }) => name).toSorted(),
    signal,
  };
}

function copyOf(args: ToolCall['arguments']): ToolCall['arguments'] {
  try {
    return structuredClone(args);
  } catch {
    // An author's own check may make something of the arguments that cannot be copied.
    return args;
  }
}

// Any other answer does not approve the call.
function answerOf(decision: unknown, tool: Tool): PersonsAnswer {
  if (decision === 'allow') return { kind: 'allow' };
  if (decision === 'deny') return { kind: 'deny', reason: undefined };
  if (isObject(decision)) {
    const { kind, reason, scope, minutes, arguments: args } = decision;
    if (kind === 'deny') return { kind, reason: typeof reason === 'string' ? reason : undefined };
    if (kind === 'allowAlways' && (scope === 'call' || scope === 'tool' || scope === 'server'))
      return { kind, scope, ...(typeof minutes === 'number' && { minutes }) };
    if (kind === 'edit' && isObject(args)) return { kind, arguments: args };
  }
  throw new ToolcribError('refused', `Nothing was done: there was no clear answer about ${tool.name}.`);
}

function noAnswer({ name }: Tool, waitMs: number): ToolcribError {
  return new ToolcribError(
    'approval_required',
    `Nothing was done: nobody answered within ${waitMs / 1000} s whether ${name} may be called.`,
  );
}
