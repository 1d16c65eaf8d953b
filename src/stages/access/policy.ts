import type { Caller } from '../../core/caller.ts';
import { CallerMemory } from '../../core/caller-memory.ts';
import type { Readable } from '../../core/expose-readings.ts';
import { governedName, type Tool } from '../../core/tool.ts';
import type { AccessKind, CompiledRule } from './rules.ts';
import { makeRoomIn } from '../../core/memory/bounded-map.ts';

/** The decision of the rules about a target, from its name alone. */
export interface AccessVerdict {
  /** Whether it is listed and can be called; if not, it is unknown to the caller. */
  readonly isListed: boolean;
  /** The rule to record. */
  readonly note: string;
  /** The rules to evaluate in order once the arguments are known; the last of them may have no condition. */
  readonly conditions: readonly CompiledRule[] | undefined;
}

/** Decides what callers may use; listing, finding and calling all use it. */
export interface AccessPolicy {
  /** Equal for callers to whom the same rules apply. */
  viewOf(caller: Caller): string;
  tool(tool: Tool, caller: Caller): AccessVerdict;
  reading(target: Readable, caller: Caller): AccessVerdict;
  /** Decides about a URI made from a template. */
  address(uri: string, caller: Caller): AccessVerdict;
}

// Limits how many kinds of callers are cached; the oldest is computed again when needed.
const MAX_KINDS = 1_000;
const NO_RULE: AccessVerdict = { isListed: false, note: 'access', conditions: undefined };

/** Makes the policy of a list of rules. */
export function createPolicy(rules: readonly CompiledRule[]): AccessPolicy {
  const rightsOf = createRights(rules);
  const covering = new WeakMap<object, readonly CompiledRule[]>();
  const about = (target: object, kind: AccessKind, name: () => string): readonly CompiledRule[] => {
    let found = covering.get(target);
    if (!found) covering.set(target, (found = coveringRules(rules, kind, name())));
    return found;
  };
  const verdictOf = (target: Tool | Readable, caller: Caller, kind: AccessKind): AccessVerdict => {
    const rights = rightsOf(caller);
    let verdict = rights.verdicts.get(target);
    if (!verdict) {
      verdict = decide(
        about(target, kind, () => nameOf(target)),
        rights,
      );
      rights.verdicts.set(target, verdict);
    }
    return verdict;
  };
  return {
    viewOf: (caller) => rightsOf(caller).key,
    tool: (tool, caller) => verdictOf(tool, caller, 'tools'),
    reading: (target, caller) =>
      verdictOf(target, caller, 'uri' in target || 'uriTemplate' in target ? 'resources' : 'prompts'),
    address: (uri, caller) => decide(coveringRules(rules, 'resources', uri), rightsOf(caller)),
  };
}

function nameOf(target: Tool | Readable): string {
  if (target.place) return governedName(target);
  if ('uri' in target) return target.uri;
  return 'uriTemplate' in target ? target.uriTemplate : target.name;
}

function coveringRules(
  rules: readonly CompiledRule[],
  kind: AccessKind,
  name: string,
): readonly CompiledRule[] {
  return rules.filter((rule) => rule.covers[kind](name));
}

/** A key that callers share if the same rules apply to them. */
interface Rights {
  readonly key: string;
  readonly applying: ReadonlySet<CompiledRule>;
  readonly verdicts: WeakMap<object, AccessVerdict>;
}

function createRights(rules: readonly CompiledRule[]): (caller: Caller) => Rights {
  const byCaller = new CallerMemory<Rights>('rights');
  const byKey = new Map<string, Rights>();
  const share = (caller: Caller): Rights => {
    const applying = rules.filter((rule) => rule.appliesTo(caller));
    const key = applying.map(({ index }) => index).join();
    let rights = byKey.get(key);
    if (!rights) {
      makeRoomIn(byKey, MAX_KINDS);
      byKey.set(key, (rights = { key, applying: new Set(applying), verdicts: new WeakMap() }));
    }
    return rights;
  };
  return (caller) => {
    let rights = byCaller.get(caller);
    if (!rights) byCaller.set(caller, (rights = share(caller)));
    return rights;
  };
}

function decide(covering: readonly CompiledRule[], { applying }: Rights): AccessVerdict {
  const chain: CompiledRule[] = [];
  for (const rule of covering) {
    if (!applying.has(rule)) continue;
    chain.push(rule);
    if (rule.when === undefined) break;
  }
  const first = chain[0];
  if (!first) return NO_RULE;
  const allowing = chain.find(({ allows }) => allows);
  const last = chain.at(-1)!;
  if (!allowing) return last.when === undefined ? { ...NO_RULE, note: last.note } : NO_RULE;
  return {
    isListed: true,
    note: allowing.note,
    conditions: first.when === undefined ? undefined : chain,
  };
}
