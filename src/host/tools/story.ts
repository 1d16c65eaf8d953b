import type { Clock } from '../../base/clock.ts';
import { escapeUnseen } from '../../base/escape-unseen.ts';
import type { Listeners } from '../../client/listeners.ts';
import type { Caller } from '../../core/caller.ts';
import type { Secrets } from '../../observe/secrets.ts';
import type { Decision } from '../../stages/approve/decision.ts';
import { chainOf } from '../../stages/record/audit-row.ts';
import type { Journal } from '../../store/store.ts';
import type { AgentEvents } from '../agent.ts';

/** The parts that the rows of a story are made from. */
export interface StoryParts {
  readonly journal: Journal;
  readonly listeners: Listeners<AgentEvents>;
  readonly clock: Clock;
  readonly caller: Caller;
  readonly secrets: Secrets;
  /** The name that the record has for a tool the model knows. */
  readonly recordedName: (tool: string) => string;
}

// Rows are for people to read, so long texts are cut.
const MAX_TEXT = 4_096;

/** Records what happens around calls: who was asked and decided what, questions, connections and changed lists. */
export function recordStory(parts: StoryParts): void {
  const { journal, listeners, clock, caller, secrets, recordedName } = parts;
  const chain = chainOf(caller);
  const short = (value: unknown): string => secrets.redact(textOf(value)).slice(0, MAX_TEXT);
  const write = (kind: string, facts: Readonly<Record<string, unknown>>): void => {
    const at = new Date(clock.now()).toISOString();
    const row = { kind, at, tenant: caller.tenant.id, caller: caller.id, ...facts };
    // If the record cannot be written the calls themselves are refused, so a failure of these rows may be ignored.
    journal.append({ chain, body: escapeUnseen(JSON.stringify(row)) }).catch((error: unknown) => {
      listeners.tell('warning', `The record could not be written: ${String(error)}`);
    });
  };
  listeners.on('decision:end', ({ request: { id, tool }, decision, ms }) => {
    write('decision', { call: id, tool: recordedName(tool), ...described(decision, short), ms });
  });
  listeners.on('question:end', ({ server, kind, message, outcome, ms }) => {
    write('question', { server, asks: kind, message: short(message), outcome, ms });
  });
  listeners.on('server', ({ server, state }) => {
    const reason = 'reason' in state ? { reason: short(state.reason) } : {};
    write('server', { server, state: state.kind, ...reason });
  });
  listeners.on('tools:changed', (tools) => {
    write('tools', { tools: tools.slice(0, 1_000).map(({ name }) => name) });
  });
}

function described(
  decision: Decision | undefined,
  short: (value: unknown) => string,
): Readonly<Record<string, unknown>> {
  if (decision === undefined) return { decision: 'none' };
  if (typeof decision === 'string') return { decision };
  switch (decision.kind) {
    case 'deny':
      return { decision: 'deny', reason: short(decision.reason) };
    case 'allowAlways':
      return { decision: 'allowAlways', scope: decision.scope };
    case 'edit':
      return { decision: 'edit', arguments: short(decision.arguments) };
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
