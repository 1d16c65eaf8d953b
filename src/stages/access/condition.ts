import type * as Cel from '@marcbachmann/cel-js';
import type { Caller } from '../../core/caller.ts';
import type { LinearPattern } from '../../base/linear-pattern.ts';
import type { ConditionProblem, ConditionSurvey } from './condition-findings.ts';
import { LINEAR_MATCHES, surveyCondition } from './condition-survey.ts';
import { toConditionValue, type ConditionValue } from './condition-values.ts';

/** The values a condition can read. */
export interface ConditionScope {
  readonly args: ConditionValue;
  readonly caller: unknown;
  readonly tenant: unknown;
  readonly tool: unknown;
}

/** The compiled `when` of a rule. */
export interface AccessCondition extends Pick<ConditionSurvey, 'problem' | 'fields' | 'truths'> {
  /** Whether it holds; `undefined` if it cannot be evaluated. */
  readonly holds: (scope: ConditionScope) => boolean | undefined;
}

/** Compiles an expression. A problem is reported, not thrown, and such a condition can never be evaluated. */
export type CompileCondition = (source: string) => AccessCondition;

const LIMITS = {
  maxAstNodes: 500,
  maxDepth: 32,
  maxListElements: 200,
  maxMapEntries: 50,
  maxCallArguments: 8,
};
// The most steps of a condition with more than linear running time.
const MAX_STEPS = 4_000_000;

/** Loads the evaluator and sets it up. */
export async function loadConditions(): Promise<CompileCondition> {
  const patterns = new Map<string, LinearPattern>();
  const environment = createEnvironment(await import('@marcbachmann/cel-js'), patterns);
  return (source) => {
    let parsed: Cel.ParseResult;
    try {
      parsed = environment.parse(source);
    } catch (error) {
      return unusable({ message: `The condition cannot be read: ${summaryOf(error)}.`, remedy: EXAMPLE });
    }
    const { problem, fields, truths, degree } = surveyCondition(parsed.ast, patterns);
    const found = problem ?? problemOf(parsed.check());
    if (found) return unusable(found, fields);
    return { problem: undefined, fields, truths, holds: (scope) => evaluate(parsed, scope, degree) };
  };
}

const EXAMPLE = 'Write a CEL expression that is true or false, such as args.amount < 100.';

function unusable(problem: ConditionProblem, fields: AccessCondition['fields'] = []): AccessCondition {
  return { problem, fields, truths: [], holds: () => undefined };
}

function problemOf({ valid, type, error }: Cel.TypeCheckResult): ConditionProblem | undefined {
  if (!valid) {
    const isUnknown = error?.code === 'unknown_variable';
    const remedy = isUnknown ? 'Use args, caller, tenant or tool.' : EXAMPLE;
    return { message: `The condition does not make sense: ${summaryOf(error)}.`, remedy };
  }
  if (type === 'bool' || type === 'dyn') return undefined;
  return { message: `The condition is not true or false but a value of type ${type}.`, remedy: EXAMPLE };
}

function summaryOf(error: unknown): string {
  const { summary } = error as { readonly summary?: string };
  return (summary ?? 'it is not CEL').replace(/\.$/, '');
}

function evaluate(parsed: Cel.ParseResult, scope: ConditionScope, degree: number): boolean | undefined {
  const { args, caller, tenant, tool } = scope;
  if (degree > 1 && args.size ** degree > MAX_STEPS) return undefined;
  try {
    const answer: unknown = parsed({ args: args.value, caller, tenant, tool });
    return typeof answer === 'boolean' ? answer : undefined;
  } catch {
    return undefined;
  }
}

function createEnvironment(
  { Environment }: typeof Cel,
  patterns: ReadonlyMap<string, LinearPattern>,
): Cel.Environment {
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const name of ['args', 'caller', 'tenant', 'tool']) environment.registerVariable(name, 'map');
  environment.registerFunction(
    `string.${LINEAR_MATCHES}(string): bool`,
    (text: string, pattern: string) => patterns.get(pattern)!.test(text),
    { async: false },
  );
  // All JSON numbers are doubles, and CEL has no arithmetic between doubles and the integers of an expression.
  for (const [operator, apply] of ARITHMETIC) {
    const mixed = (left: number | bigint, right: number | bigint): number =>
      apply(Number(left), Number(right));
    environment.registerOperator(`double ${operator} int: double`, mixed);
    environment.registerOperator(`int ${operator} double: double`, mixed);
    if (operator === '%') environment.registerOperator('double % double: double', mixed);
  }
  return environment;
}

const ARITHMETIC: readonly (readonly [string, (left: number, right: number) => number])[] = [
  ['+', (left, right) => left + right],
  ['-', (left, right) => left - right],
  ['*', (left, right) => left * right],
  ['/', (left, right) => left / right],
  ['%', (left, right) => left % right],
];

/** A caller as conditions see it; computed once per caller. */
export function callerScope(caller: Caller): Pick<ConditionScope, 'caller' | 'tenant'> {
  let scope = callerScopes.get(caller);
  if (!scope) {
    const { id, roles, scopes, tenant } = caller;
    scope = {
      caller: toConditionValue({ id, roles, scopes }).value,
      tenant: toConditionValue({ id: tenant.id, name: tenant.name, data: tenant.data }).value,
    };
    callerScopes.set(caller, scope);
  }
  return scope;
}

const callerScopes = new WeakMap<Caller, Pick<ConditionScope, 'caller' | 'tenant'>>();
