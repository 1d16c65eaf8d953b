import { compileGlob } from '../../base/glob.ts';
import { isAbsent } from '../../core/absent-tool.ts';
import { mayDestroy } from '../../core/authoring/confirmation.ts';
import { governedName, isDeclaredReadOnly, type Tool } from '../../core/tool.ts';
import type { SafetyMode } from './decision.ts';

/** Every mode, the loosest last. */
export const safetyModes = ['restricted', 'strict', 'balanced', 'autonomous'] as const satisfies SafetyMode[];

/** What happens to the calls of a tool: they run, a person is asked, or they are refused. */
export type Verdict = 'run' | 'ask' | 'refuse';

/** Which calls need an approval. */
export interface AskingRules {
  readonly when: readonly 'destructive'[];
  /** Names of tools; `*` matches any characters. */
  readonly tools: readonly string[];
  readonly safety: readonly SafetyMode[];
}

const ORDER: readonly Verdict[] = ['run', 'ask', 'refuse'];

/** What happens to the calls of a tool under these rules: the strictest counts. */
export function whichCalls({ when, tools, safety }: AskingRules): (tool: Tool) => Verdict {
  const fits = tools.map(compileGlob);
  return (tool) => {
    if (isAbsent(tool)) return 'run';
    const isNamed = fits.some((fit) => fit(governedName(tool)));
    const isAsked = isNamed || (when.includes('destructive') && mayDestroy(tool));
    return strictest([isAsked ? 'ask' : 'run', verdictOn(tool, safety)]);
  };
}

/** What happens to the calls of a tool under all these modes: the strictest counts. */
export function verdictOn(tool: Tool, modes: readonly SafetyMode[]): Verdict {
  const isProven = isDeclaredReadOnly(tool);
  return strictest(modes.map((mode) => verdictOf(mode, isProven)));
}

function strictest(verdicts: readonly Verdict[]): Verdict {
  return ORDER[Math.max(0, ...verdicts.map((verdict) => ORDER.indexOf(verdict)))]!;
}

function verdictOf(mode: SafetyMode, isProvenReadOnly: boolean): Verdict {
  switch (mode) {
    case 'strict':
      return 'ask';
    case 'balanced':
      return isProvenReadOnly ? 'run' : 'ask';
    case 'restricted':
      return isProvenReadOnly ? 'run' : 'refuse';
    case 'autonomous':
      return 'run';
  }
}
