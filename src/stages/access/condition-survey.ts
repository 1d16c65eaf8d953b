import type { ASTNode } from '@marcbachmann/cel-js';
import { linearPattern, type LinearPattern } from '../../base/linear-pattern.ts';
import type { ConditionProblem, ConditionSurvey } from './condition-findings.ts';
import { anyItem, type FieldStep } from './reachable-field.ts';

/** The function that replaces `matches`: the evaluator's own may backtrack for ever. */
export const LINEAR_MATCHES = 'matchesLinearly';

const KNOWN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  caller: ['id', 'roles', 'scopes'],
  tenant: ['id', 'name', 'data'],
  tool: ['name'],
};
const VARIABLES: ReadonlySet<string> = new Set(['args', ...Object.keys(KNOWN_FIELDS)]);
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter']);
// They build new values: a short chain of them grows without limit.
const BUILDERS: ReadonlySet<string> = new Set(['map', 'bind', 'json']);
// They search text in text, or repeat text per element.
const SEARCHES: ReadonlySet<string> = new Set(['contains', 'indexOf', 'lastIndexOf', 'split', 'join']);
// Marks the variable of a loop over a literal in the configuration: such a loop is short.
const OWN = Infinity;
const MAX_DURATION_LENGTH = 40;

/** Walks a parsed condition, collects its patterns and replaces `matches` by the linear engine. */
export function surveyCondition(root: ASTNode, patterns: Map<string, LinearPattern>): ConditionSurvey {
  const survey = new Survey(patterns);
  survey.walk(root, { depth: 0, loops: new Map() });
  const { problem, fields, degree, hasSplit } = survey;
  return { problem, fields, truths: truthsIn(root), degree: hasSplit ? degree + 1 : degree };
}

/** The position of a node: how many loops it is inside, and which variable belongs to which loop. */
interface Place {
  readonly depth: number;
  readonly loops: ReadonlyMap<string, number>;
}

type CallNode = Extract<ASTNode, { op: 'call' | 'rcall' }>;
type AccessNode = Extract<ASTNode, { op: '.' | '.?' | '[]' | '[?]' }>;

class Survey {
  problem: ConditionProblem | undefined;
  readonly fields: (readonly FieldStep[])[] = [];
  degree = 1;
  /** Whether text is split, which makes many values of few. */
  hasSplit = false;
  readonly #patterns: Map<string, LinearPattern>;
  /** How often values from the caller are referred to. */
  #mentions = 0;

  constructor(patterns: Map<string, LinearPattern>) {
    this.#patterns = patterns;
  }

  walk(node: ASTNode, place: Place): void {
    switch (node.op) {
      case 'value':
        return;
      case 'id':
        return this.#refer(node.args, place);
      case '.':
      case '.?':
      case '[]':
      case '[?]':
        return this.#access(node, place);
      case 'call':
      case 'rcall':
        return this.#call(node, place);
      case 'map':
        return node.args.forEach((entry) => this.#walkAll(entry, place));
      case '!_':
      case '-_':
        return this.walk(node.args, place);
      default:
        return this.#walkAll(node.args, place);
    }
  }

  #walkAll(nodes: readonly ASTNode[], place: Place): void {
    for (const node of nodes) this.walk(node, place);
  }

  // Reading the arguments in each round of a loop multiplies the cost; reading the loop's own variable does not.
  #refer(name: string, { depth, loops }: Place): void {
    if (Object.hasOwn(KNOWN_FIELDS, name)) return;
    const bound = loops.get(name) ?? 0;
    if (bound === OWN) return;
    this.#mentions++;
    this.degree = Math.max(this.degree, 1 + depth - bound);
  }

  #access(node: AccessNode, place: Place): void {
    let steps: FieldStep[] = [];
    let at: ASTNode = node;
    for (; isAccess(at); at = at.args[0]) {
      const step = at.args[1];
      const known = typeof step === 'string' ? step : literalStep(step);
      if (known !== undefined) steps.unshift(known);
      else {
        this.walk(step as ASTNode, place);
        steps = [];
      }
    }
    this.walk(at, place);
    if (at.op === 'id') this.#note(at.args, steps);
  }

  #note(root: string, steps: readonly FieldStep[]): void {
    const known = Object.hasOwn(KNOWN_FIELDS, root) ? KNOWN_FIELDS[root] : undefined;
    const first = steps[0];
    if (root === 'args' && first !== undefined) this.fields.push(steps);
    if (known && typeof first === 'string' && !known.includes(first)) {
      this.#complain(
        `"${root}" has no field "${first}".`,
        `Use one of ${known.map((field) => `${root}.${field}`).join(', ')}.`,
      );
    }
  }

  #call(node: CallNode, place: Place): void {
    const [name] = node.args;
    const given = node.op === 'call' ? node.args[1] : node.args[2];
    const before = this.#mentions;
    if (node.op === 'rcall') this.walk(node.args[1], place);
    const isOwn = this.#mentions === before;
    if (BUILDERS.has(name)) {
      this.#complain(
        `"${name}" cannot be used in a condition.`,
        'Ask with all, exists, exists_one or filter instead.',
      );
    }
    if (name === 'matches' && node.op === 'rcall') return this.#match(node);
    if (name === 'split') this.hasSplit = true;
    if (name === 'duration' && node.op === 'call') this.#checkDuration(given);
    if (node.op === 'rcall' && LOOPS.has(name))
      return this.#loop(given, place, isOwn ? OWN : place.depth + 1);
    const inner = SEARCHES.has(name) ? { ...place, depth: place.depth + 1 } : place;
    this.#walkAll(given, inner);
  }

  #loop([variable, ...body]: readonly ASTNode[], { depth, loops }: Place, bound: number): void {
    if (variable?.op !== 'id') return;
    if (VARIABLES.has(variable.args)) {
      this.#complain(
        `"${variable.args}" has a meaning of its own here.`,
        'Give the variable of the loop another name.',
      );
    }
    this.#walkAll(body, {
      depth: bound === OWN ? depth : bound,
      loops: new Map(loops).set(variable.args, bound),
    });
  }

  #match(node: Extract<CallNode, { op: 'rcall' }>): void {
    const [pattern] = node.args[2];
    node.args[0] = LINEAR_MATCHES;
    if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
      return this.#complain(
        'The pattern of "matches" is not a fixed text.',
        'Write the pattern into the condition: args.name.matches("^[a-z]+$").',
      );
    }
    try {
      this.#patterns.set(pattern.args, linearPattern(pattern.args));
    } catch {
      this.#complain(
        `The pattern ${JSON.stringify(pattern.args)} cannot be tested in linear time.`,
        'Do without look-around and back-references, and close every bracket.',
      );
    }
  }

  // The evaluator parses a duration in cubic time.
  #checkDuration([text]: readonly ASTNode[]): void {
    if (text?.op === 'value' && typeof text.args === 'string' && text.args.length <= MAX_DURATION_LENGTH)
      return;
    this.#complain('The text of "duration" is not fixed.', 'Write it into the condition: duration("24h").');
  }

  #complain(message: string, remedy: string): void {
    this.problem ??= { message, remedy };
  }
}

function truthsIn(node: ASTNode): (readonly FieldStep[])[] {
  switch (node.op) {
    case '&&':
    case '||':
    case '?:':
      return node.args.flatMap(truthsIn);
    case '!_':
      return truthsIn(node.args);
    default: {
      const field = fieldOf(node);
      return field && field.length > 0 ? [field] : [];
    }
  }
}

function fieldOf(node: ASTNode): readonly FieldStep[] | undefined {
  if (node.op === 'id') return node.args === 'args' ? [] : undefined;
  if (node.op !== '.' && node.op !== '[]') return undefined;
  const [inner, step] = node.args;
  const before = fieldOf(inner);
  const known = typeof step === 'string' ? step : literalStep(step);
  return before && known !== undefined ? [...before, known] : undefined;
}

function isAccess(node: ASTNode): node is AccessNode {
  return node.op === '.' || node.op === '.?' || node.op === '[]' || node.op === '[?]';
}

function literalStep(index: ASTNode): FieldStep | undefined {
  if (index.op !== 'value') return undefined;
  if (typeof index.args === 'string') return index.args;
  return typeof index.args === 'bigint' ? anyItem : undefined;
}
