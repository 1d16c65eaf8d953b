import { z } from 'zod';
import { givenOf, type ToolCall } from '../../core/call.ts';
import type { Caller } from '../../core/caller.ts';
import { systemClock, type Clock } from '../../base/clock.ts';
import { digest } from '../../base/digest.ts';
import { ownerOf } from '../../core/caller.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import { ToolcribError } from '../../base/errors.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Result } from '../../core/result.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Next, Stage } from '../../core/stage.ts';
import { codeOf, isDeclaredReadOnly, type Tool } from '../../core/tool.ts';
import { jsonDigest } from '../json-digest.ts';
import { ResultCache } from './result-cache.ts';
import { SharedRun } from './shared-run.ts';

/** Limits for the number, size and age of cached results. */
export const cacheOptions = z.strictObject({
  maxEntries: z.int().min(1).default(10_000).describe('How many results are kept at most.'),
  maxBytes: z
    .int()
    .min(1)
    .default(64 * 1_048_576)
    .describe('How much room the results may take, in bytes of JSON.'),
  maxSeconds: z
    .number()
    .positive()
    .default(3_600)
    .describe('How many seconds a result is kept at most, whatever its tool asks for.'),
});

/** What the stage needs. */
export interface CacheParts {
  /** The version of the rules; results from other versions are not used. */
  readonly policyVersion: string;
  readonly clock?: Clock;
  /** Kept across a reload. */
  readonly results?: ResultCache;
}

/** Caches results of read-only tools that declare `cache`, and lets identical concurrent calls share one run. */
export function cache(options: z.input<typeof cacheOptions>, parts: CacheParts): Stage {
  const { maxSeconds, ...limits } = cacheOptions.parse(options, { jitless: true });
  const { policyVersion, clock = systemClock, results = new ResultCache() } = parts;
  results.limit(limits);
  return {
    name: 'cache',
    wrap(tool, next) {
      const seconds = Math.min(tool.cache?.seconds ?? 0, maxSeconds);
      // NaN fails this check too.
      if (!(seconds > 0) || !isDeclaredReadOnly(tool)) return next;
      const cached = new CachedTool({ tool, next, results, clock, policyVersion, keepMs: seconds * 1_000 });
      return (call) => cached.call(call);
    },
  };
}

interface CachedToolParts {
  readonly tool: Tool;
  readonly next: Next;
  readonly results: ResultCache;
  readonly clock: Clock;
  readonly policyVersion: string;
  readonly keepMs: number;
}

/** One tool whose results are cached. */
class CachedTool {
  readonly #parts: CachedToolParts;
  readonly #prefix: string;
  readonly #isShared: boolean;

  constructor(parts: CachedToolParts) {
    const { tool, policyVersion } = parts;
    this.#parts = parts;
    this.#isShared = tool.cache?.shared === true;
    this.#prefix = digest([policyVersion, definitionDigest(tool), codeOf(tool), this.#isShared]);
  }

  call(call: ToolCall): Awaitable<Result> {
    const { next, results, clock } = this.#parts;
    // The answers of a resumed call are not part of the key.
    const key = call.record.isResumed ? undefined : this.#keyOf(call);
    if (key === undefined) return next(call);
    const kept = results.find(key, clock.ticks());
    if (kept) {
      call.record.answerFrom('cache', kept.bytes);
      return parseJson(kept.text) as Result;
    }
    const run = results.runs.get(key);
    return run ? this.#join(run, call) : this.#lead(key, call);
  }

  #lead(key: string, call: ToolCall): Awaitable<Result> {
    const { next, results, clock, keepMs } = this.#parts;
    const run = new SharedRun(call, {
      onClosed: (closed) => {
        if (results.runs.get(key) === closed) results.runs.delete(key);
      },
      onEnded: ({ result, text }) => {
        if (result.kind !== 'done' || text === undefined) return;
        results.keep(key, { text, expiresAt: clock.ticks() + keepMs, bytes: call.record.bytes });
      },
    });
    results.runs.set(key, run);
    return run.lead(next);
  }

  async #join(run: SharedRun, call: ToolCall): Promise<Result> {
    const { record } = call;
    record.answerFrom('joined');
    let ending;
    try {
      ending = await run.join(call);
    } catch (error) {
      if (run.hasRun) record.letRun();
      throw call.cancellation.reason ?? ownCopy(error);
    }
    if (ending) {
      record.answerFrom('joined', run.bytes);
      return ending.text === undefined ? ending.result : (parseJson(ending.text) as Result);
    }
    record.answerFrom(undefined);
    return this.#parts.next(call);
  }

  // Parts of fixed length come first, so that different keys never collide.
  #keyOf(call: ToolCall): string | undefined {
    const { caller } = call;
    const given = jsonDigest(givenOf(call));
    const scope = this.#isShared ? tenantScopes.of(caller) : callerScopes.of(caller);
    return given === undefined || scope === undefined ? undefined : this.#prefix + given + scope;
  }
}

// Each call gets an error object of its own, because errors are recorded by identity.
function ownCopy(error: unknown): unknown {
  if (!(error instanceof ToolcribError)) return error;
  const { code, message, data, incident, number, remote } = error;
  return new ToolcribError(code, message, {
    ...(number !== undefined && { number }),
    ...(remote && { remote }),
    ...(data && { data }),
    ...(incident !== undefined && { incident }),
    ...('cause' in error && { cause: error.cause }),
  });
}

/** Who may share results with a caller; computed once per caller. */
class Scopes {
  readonly #known = new WeakMap<Caller, string | undefined>();
  readonly #make: (caller: Caller) => string | undefined;

  constructor(make: (caller: Caller) => string | undefined) {
    this.#make = make;
  }

  of(caller: Caller): string | undefined {
    if (this.#known.has(caller)) return this.#known.get(caller);
    const scope = this.#make(caller);
    this.#known.set(caller, scope);
    return scope;
  }
}

// Rights and the tenant's data are part of the key: when they change, older results are no longer found.
const callerScopes = new Scopes((caller) => {
  const rights = jsonDigest([caller.tenant.data, caller.scopes.toSorted(), caller.roles.toSorted()]);
  return rights && rights + ownerOf(caller);
});

const tenantScopes = new Scopes(({ tenant }) => {
  const facts = jsonDigest(tenant.data);
  return facts && facts + tenant.id;
});
