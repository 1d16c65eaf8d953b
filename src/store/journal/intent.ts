import { escapeUnseen } from '../../base/escape-unseen.ts';
import { isObject } from '../../base/json.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Entry } from '../store.ts';

/** The call that a row begins or ends; the row itself says so. */
export function intentIn(
  body: string,
): { readonly kind: 'intent' | 'outcome'; readonly call: string } | undefined {
  const found = /^\{"kind":"(intent|outcome)","call":"([^"]+)"/.exec(body);
  return found ? { kind: found[1] as 'intent' | 'outcome', call: found[2]! } : undefined;
}

/** The process that made a call: its name is what the id of the call begins with. */
export function holderOf(call: string): string {
  return call.slice(0, call.lastIndexOf('-'));
}

/** Ends a call of which only the intent is known, and says as the intent does whose call it was, and of which tool. */
export function endIntent({ chain, body }: Entry, ending: { outcome: string; reason: string }): Entry {
  const { tenant, caller, credential, tool } = readFacts(body);
  const head = { kind: 'outcome', call: intentIn(body)?.call, at: new Date().toISOString() };
  const facts = { ...head, tenant, caller, credential, tool, ...ending };
  return { chain, body: escapeUnseen(JSON.stringify(facts)) };
}

// An intent that somebody has damaged is ended all the same.
function readFacts(body: string): Readonly<Record<string, unknown>> {
  try {
    const facts: unknown = parseJson(body);
    return isObject(facts) ? facts : {};
  } catch {
    return {};
  }
}

/** The intents of calls whose outcome is not on record, by call. */
export class OpenIntents {
  readonly #open = new Map<string, Entry>();

  /** Takes note of one more row. */
  take(entry: Entry): void {
    const found = intentIn(entry.body);
    if (found?.kind === 'intent') this.#open.set(found.call, entry);
    else if (found) this.#open.delete(found.call);
  }

  /** Begins anew with what was kept. */
  restore(intents: readonly Entry[]): void {
    this.#open.clear();
    for (const intent of intents) this.take(intent);
  }

  entries(): readonly (readonly [call: string, intent: Entry])[] {
    return [...this.#open];
  }
}
