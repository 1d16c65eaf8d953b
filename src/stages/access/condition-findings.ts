import type { FieldStep } from './reachable-field.ts';

/** Why a condition cannot be used, and how to fix it. */
export interface ConditionProblem {
  readonly message: string;
  readonly remedy: string;
}

/** The findings of a static check of a condition. */
export interface ConditionSurvey {
  readonly problem: ConditionProblem | undefined;
  /** The arguments it refers to. */
  readonly fields: readonly (readonly FieldStep[])[];
  /** The arguments that must be booleans. */
  readonly truths: readonly (readonly FieldStep[])[];
  /** The degree of its running time in the size of the arguments: 1 is linear, 2 quadratic, and so on. */
  readonly degree: number;
}
