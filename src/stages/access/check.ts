import { governedName, type Tool } from '../../core/tool.ts';
import type { AccessCondition } from './condition.ts';
import type { CompiledRule } from './rules.ts';
import { asTruth, canHaveField, type FieldStep } from './reachable-field.ts';

/** A problem of the access rules. */
export interface AccessComplaint {
  /** An error makes the rule unusable; a warning is probably a mistake. */
  readonly severity: 'error' | 'warning';
  /** The index of the rule. */
  readonly rule: number;
  /** The place in the rule. */
  readonly path: readonly string[];
  readonly message: string;
  readonly remedy: string;
}

/** The tools that rules are checked against. */
export interface KnownTools {
  readonly tools: readonly Tool[];
  /** Other servers whose tools are served too. */
  readonly upstreams?: readonly string[];
}

/** Checks the rules against the tools that exist. */
export function checkAccess(
  rules: readonly CompiledRule[],
  conditions: ReadonlyMap<CompiledRule, AccessCondition>,
  { tools, upstreams = [] }: KnownTools,
): AccessComplaint[] {
  return rules.flatMap((rule) => {
    // The tools of those upstreams are not known yet.
    const isOpen = upstreams.some((upstream) => rule.mayCover(upstream));
    const covered = tools.filter((tool) => rule.covers.tools(governedName(tool)));
    const condition = conditions.get(rule);
    return [
      ...(rule.namesTools && covered.length === 0 && !isOpen ? [matchesNothing(rule)] : []),
      ...(condition ? checkCondition(rule, condition, isOpen ? [] : covered) : []),
    ];
  });
}

function matchesNothing({ index }: CompiledRule): AccessComplaint {
  return {
    severity: 'warning',
    rule: index,
    path: ['tools'],
    message: 'No tool there is now matches.',
    remedy: 'Correct the names, or leave the rule if the tools come later.',
  };
}

function checkCondition(
  { index }: CompiledRule,
  { problem, fields, truths }: AccessCondition,
  covered: readonly Tool[],
): AccessComplaint[] {
  const place = { severity: 'error', rule: index, path: ['when'] } as const;
  if (problem) return [{ ...place, ...problem }];
  if (covered.length === 0) return [];
  const isThere = (field: readonly FieldStep[]): boolean =>
    covered.some(({ inputSchema }) => canHaveField(inputSchema, field));
  const missing = fields.filter((field) => !isThere(field));
  const untrue = truths.filter((field) => isThere(field) && !isThere([...field, asTruth]));
  return [
    ...written(missing).map((field) => ({
      ...place,
      message: `The condition names ${field}, which ${whose(covered)}.`,
      remedy: 'Use a field of the input schema, or declare this one there.',
    })),
    ...written(untrue).map((field) => ({
      ...place,
      message: `The condition takes ${field} for true or false, which it is not.`,
      remedy: 'Compare it with something, or ask whether it is there with has(...).',
    })),
  ];
}

function written(fields: readonly (readonly FieldStep[])[]): string[] {
  return [...new Set(fields.map(writeField))];
}

function whose(covered: readonly Tool[]): string {
  return covered.length === 1 ? `the tool "${covered[0]!.name}" does not have` : 'none of its tools has';
}

function writeField(field: readonly FieldStep[]): string {
  return field.reduce<string>((text, step) => {
    if (typeof step === 'symbol') return `${text}[]`;
    return /^[A-Za-z_]\w*$/.test(step) ? `${text}.${step}` : `${text}[${JSON.stringify(step)}]`;
  }, 'args');
}
