import type { ListedTool } from '../core/tool.ts';

/** The severity of a finding: clients refuse it, a model or client works worse with it, or it is worth a look. */
export type Severity = 'error' | 'warning' | 'hint';

/** What a rule says about a tool. */
export interface Remark {
  readonly severity: Severity;
  /** What is wrong and what to change. */
  readonly message: string;
  /** The place in the listed tool, such as `inputSchema.properties.city`. */
  readonly path?: string;
}

/** A remark with its rule and its tool. */
export interface Finding extends Remark {
  /** A heading in docs/lint.md. */
  readonly rule: string;
  /** The tool's name; not set for the list as a whole. */
  readonly tool?: string;
}

/** A rule about a single tool. */
export interface Rule {
  readonly id: string;
  readonly check: (tool: ListedTool) => readonly Remark[];
}

/** The remark, if something is wrong. */
export function remarkIf(isWrong: boolean, remark: Remark): readonly Remark[] {
  return isWrong ? [remark] : [];
}
