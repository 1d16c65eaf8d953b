import type { ListedTool } from '../core/tool.ts';

/** How bad a finding is: clients refuse it, a model or a client does worse with it, or it is worth a look. */
export type Severity = 'error' | 'warning' | 'hint';

/** What a rule has to say about a tool. */
export interface Remark {
  readonly severity: Severity;
  /** What is wrong and what to change. */
  readonly message: string;
  /** Where in the listed tool, such as `inputSchema.properties.city`. */
  readonly path?: string;
}

/** A remark with the rule that made it and the tool it is about. */
export interface Finding extends Remark {
  /** A heading in docs/lint.md. */
  readonly rule: string;
  /** The tool's name; a list as a whole has none. */
  readonly tool?: string;
}

/** A rule about a single tool. */
export interface Rule {
  readonly id: string;
  readonly check: (tool: ListedTool) => readonly Remark[];
}

/** Says that something is wrong if it is. */
export function remarkIf(isWrong: boolean, remark: Remark): readonly Remark[] {
  return isWrong ? [remark] : [];
}
