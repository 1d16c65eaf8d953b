import { describeTool, type ListedTool, type Tool } from '../core/tool.ts';
import { descriptionRules } from './description-rules.ts';
import type { Finding, Rule, Severity } from './finding.ts';
import { hintRules } from './hint-rules.ts';
import { listRules } from './list-rules.ts';
import { nameRules } from './name-rules.ts';
import { schemaRules } from './schema-rules.ts';
import { estimateListedTokens, sizeRules } from './size-rules.ts';

/** What to leave out. */
export interface LintOptions {
  /** The ids of rules to ignore. */
  readonly ignore?: readonly string[];
}

/** A tool and its findings. */
export interface LintedTool {
  readonly name: string;
  /** About how many tokens its definition takes: characters / 4. */
  readonly tokens: number;
  readonly findings: readonly Finding[];
}

/** The findings for a list of tools. */
export interface LintReport {
  readonly tools: readonly LintedTool[];
  /** Findings about the list itself. */
  readonly findings: readonly Finding[];
  readonly tokens: number;
  readonly counts: Readonly<Record<Severity, number>>;
}

const toolRules: readonly Rule[] = [
  ...nameRules,
  ...descriptionRules,
  ...hintRules,
  ...schemaRules,
  ...sizeRules,
];

/** The ids of all rules, in the order of docs/lint.md. */
export const ruleIds: readonly string[] = [...toolRules, ...listRules].map(({ id }) => id);

/** Finds what makes a tool hard to choose, to call or to list, and says what to change. */
export function lintTool(tool: ListedTool | Tool<never>, options: LintOptions = {}): readonly Finding[] {
  const listed = listedOf(tool);
  return without(toolRules, options).flatMap(({ id, check }) =>
    check(listed).map((remark) => ({ rule: id, tool: listed.name, ...remark })),
  );
}

/** The same for a list of tools, with their total size. */
export function lintTools(
  tools: readonly (ListedTool | Tool<never>)[],
  options: LintOptions = {},
): LintReport {
  const listed = tools.map(listedOf);
  const together: readonly Finding[] = without(listRules, options).flatMap(({ id, check }) =>
    check(listed).map((remark) => ({ rule: id, ...remark })),
  );
  // Of two tools with one name, the later one is reported.
  const last = new Map(listed.map((tool) => [tool.name, tool]));
  const linted = listed.map((tool) => ({
    name: tool.name,
    tokens: estimateListedTokens(tool),
    findings: [
      ...lintTool(tool, options),
      ...(last.get(tool.name) === tool ? together.filter((finding) => finding.tool === tool.name) : []),
    ],
  }));
  const findings = together.filter(({ tool }) => tool === undefined);
  return {
    tools: linted,
    findings,
    tokens: linted.reduce((sum, { tokens }) => sum + tokens, 0),
    counts: countOf([...findings, ...linted.flatMap((tool) => tool.findings)]),
  };
}

function without<T extends { readonly id: string }>(
  rules: readonly T[],
  { ignore = [] }: LintOptions,
): readonly T[] {
  return rules.filter(({ id }) => !ignore.includes(id));
}

// Tools of other servers are unchecked: a field may be missing or of another type.
function listedOf(tool: ListedTool | Tool<never>): ListedTool {
  const listed = describeTool(tool as Tool);
  return typeof listed.name === 'string' ? listed : { ...listed, name: '' };
}

function countOf(findings: readonly Finding[]): LintReport['counts'] {
  const count = (severity: Severity): number =>
    findings.filter((finding) => finding.severity === severity).length;
  return { error: count('error'), warning: count('warning'), hint: count('hint') };
}
