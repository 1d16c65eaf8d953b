import { MAX_ISSUES } from './parts.ts';
import type { Issue, Parse, SelfDescribing } from './schema.ts';

// Of fewer, the library reports all.
const MANY_PROBLEMS = 500;

/** One run of a type of ArkType over a value. */
interface Traversal {
  readonly errors: Iterable<Issue> & { readonly count: number };
  readonly config: unknown;
  errorFromContext(problem: unknown): unknown;
  applyMorphsAtPath(path: unknown, morphs: unknown): void;
  finalize(): unknown;
}

type TraversalClass = new (root: unknown, config: unknown) => Traversal;

interface ArkType {
  array(): (value: unknown) => { readonly ctx?: Traversal };
  traverseApply(value: unknown, traversal: Traversal): void;
}

/** There are enough problems to report. */
class Enough extends Error {}

/** The check of ArkType, but ended as soon as very many problems are found; then the first few are reported. */
export function endingParser(schema: SelfDescribing, parse: Parse): Parse {
  let ending: Parse | undefined;
  return (value) => {
    ending ??= isArkType(schema) ? endingParse(schema) : undefined;
    return (ending ??= parse)(value);
  };
}

function endingParse(schema: ArkType): Parse | undefined {
  // ArkType hands its class out only with a problem, and this is no list.
  const { ctx } = schema.array()(undefined);
  if (!ctx || !METHODS.every((name) => typeof ctx[name] === 'function')) return undefined;
  const Ending = endingTraversal(ctx.constructor as TraversalClass);
  return (value) => {
    const traversal = new Ending(value, ctx.config);
    const { errors } = traversal;
    try {
      schema.traverseApply(value, traversal);
      const result = traversal.finalize();
      return result === errors ? { issues: [...errors] } : { value: result };
    } catch (error) {
      if (!(error instanceof Enough)) throw error;
      return { issues: [...errors].slice(0, MAX_ISSUES) };
    }
  };
}

// Another version may not have them.
const METHODS = ['errorFromContext', 'applyMorphsAtPath', 'finalize'] as const;

function isArkType(schema: object): schema is ArkType {
  return 'array' in schema && 'traverseApply' in schema;
}

function endingTraversal(base: TraversalClass): TraversalClass {
  return class extends base {
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
