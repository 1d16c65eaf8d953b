import { escapeUnseen } from '../../base/escape-unseen.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Entry } from '../store.ts';

/** The call that a row begins or ends, read from the row itself. */
export function intentIn(
  body: string,
): { readonly kind: 'intent' | 'outcome'; readonly call: string } | undefined {
  const found = /^\{"kind":"(intent|outcome)","call":"([^"]+)"/.exec(body);
  return found ? { kind: found[1] as 'intent' | 'outcome', call: found[2]! } : undefined;
}

/** The name of the process that made a call: the id of the call begins with it. */
export function holderOf(call: string): string {
  return call.slice(0, call.lastIndexOf('-'));
}

/** The outcome of a call of which only the intent is known; caller and tool are taken from the intent. */
export function endIntent({ chain, body }: Entry, ending: { outcome: string; reason: string }): Entry {
  const { tenant, caller, credential, tool } = readFacts(body);
  const head = { kind: 'outcome', call: intentIn(body)?.call, at: new Date().toISOString() };
  const facts = { ...head, tenant, caller, credential, tool, ...ending };
  return { chain, body: escapeUnseen(JSON.stringify(facts)) };
}

// A damaged intent is ended all the same.
function readFacts(body: string): Readonly<Record<string, unknown>> {
  try {
    const facts: unknown = parseJson(body);
    return isObject(facts) ? facts : {};
  } catch {
    return {};
  }
}

/** The intents of calls without an outcome on record, by call. */
export class OpenIntents {
  readonly #open = new Map<string, Entry>();

  /** Adds one more row. */
  take(entry: Entry): void {
    const found = intentIn(entry.body);
    if (found?.kind === 'intent') this.#open.set(found.call, entry);
    else if (found) this.#open.delete(found.call);
  }

  /** Starts again from stored intents. */
  restore(intents: readonly Entry[]): void {
    this.#open.clear();
    for (const intent of intents) this.take(intent);
  }

  entries(): readonly (readonly [call: string, intent: Entry])[] {
    return [...this.#open];
  }
}
