import { MAX_ISSUES } from './parts.ts';
import type { Issue, Outcome, Parse, SelfDescribing } from './schema.ts';
import type { Slices, Steps } from './zod-slices.ts';

// Of fewer, the library reports all.
const MANY_PROBLEMS = 500;

/** One run of a type of ArkType over a value. */
interface Traversal {
  readonly errors: Iterable<Issue> & { readonly count: number; affectsPath(path: unknown): boolean };
  readonly config: unknown;
  /** What is to be replaced, once all of the value was looked at. */
  queuedMorphs: { readonly path: unknown; readonly morphs: unknown }[];
  errorFromContext(problem: unknown): unknown;
  applyMorphsAtPath(path: unknown, morphs: unknown): void;
  applyQueuedMorphs(): void;
  finalize(): unknown;
}

type TraversalClass = new (root: unknown, config: unknown) => Traversal;

interface ArkType {
  array(): (value: unknown) => { readonly ctx?: Traversal };
  traverseApply(value: unknown, traversal: Traversal): void;
}

/** One that replaces what it found in slices. */
interface SlicedTraversal extends Traversal {
  finalizeInSlices(slices: Slices): Steps<unknown>;
}

/** The check of a large value in slices. */
export type CheckInSlices = (value: unknown, slices: Slices) => Steps<Outcome | Promise<Outcome>>;

/** There are enough problems to report. */
class Enough extends Error {}

/**
 * The check of ArkType, but ended as soon as very many problems are found; then the first few are reported. Others have
 * turns while it replaces parts of the value.
 */
export function endingParser(schema: SelfDescribing, parse: Parse): CheckInSlices {
  let ending: CheckInSlices | undefined;
  return function* (value, slices) {
    ending ??= isArkType(schema) ? endingParse(schema) : undefined;
    return ending ? yield* ending(value, slices) : parse(value);
  };
}

function endingParse(schema: ArkType): CheckInSlices | undefined {
  // ArkType hands its class out only with a problem, and this is no list.
  const { ctx } = schema.array()(undefined);
  if (!ctx || !METHODS.every((name) => typeof ctx[name] === 'function')) return undefined;
  if (!Array.isArray(ctx.queuedMorphs) || typeof ctx.errors.affectsPath !== 'function') return undefined;
  const Ending = endingTraversal(ctx.constructor as TraversalClass);
  return function* (value, slices) {
    const traversal = new Ending(value, ctx.config);
    const { errors } = traversal;
    try {
      if (isOver(slices)) yield undefined;
      schema.traverseApply(value, traversal);
      const result = yield* traversal.finalizeInSlices(slices);
      return result === errors ? { issues: [...errors] } : { value: result };
    } catch (error) {
      if (!(error instanceof Enough)) throw error;
      return { issues: [...errors].slice(0, MAX_ISSUES) };
    }
  };
}

// Another version may not have them.
const METHODS = ['errorFromContext', 'applyMorphsAtPath', 'applyQueuedMorphs', 'finalize'] as const;

function isArkType(schema: object): schema is ArkType {
  return 'array' in schema && 'traverseApply' in schema;
}

function endingTraversal(
  base: TraversalClass,
): new (...given: ConstructorParameters<TraversalClass>) => SlicedTraversal {
  return class extends base implements SlicedTraversal {
    #isPostponed = false;

    *finalizeInSlices(slices: Slices): Steps<unknown> {
      // It copies the value, because what replaces parts is written into it, and leaves the rest to the loop below.
      if (isOver(slices)) yield undefined;
      this.#isPostponed = true;
      this.finalize();
      this.#isPostponed = false;
      // What replaces one part may queue others, which come after all of these.
      while (this.queuedMorphs.length > 0) {
        const queued = this.queuedMorphs;
        this.queuedMorphs = [];
        for (const { path, morphs } of queued) {
          if (isOver(slices)) yield undefined;
          if (!this.errors.affectsPath(path)) this.applyMorphsAtPath(path, morphs);
        }
      }
      return this.finalize();
    }

    override applyQueuedMorphs(): void {
      if (!this.#isPostponed) super.applyQueuedMorphs();
    }

    override errorFromContext(problem: unknown): unknown {
      const error = super.errorFromContext(problem);
      this.#endIfEnough();
      return error;
    }

    override applyMorphsAtPath(path: unknown, morphs: unknown): void {
      super.applyMorphsAtPath(path, morphs);
      this.#endIfEnough();
    }

    #endIfEnough(): void {
      if (this.errors.count >= MANY_PROBLEMS) throw new Enough();
    }
  };
}

function isOver({ until }: Slices): boolean {
  return performance.now() > until;
}
