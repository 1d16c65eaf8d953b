import { isDeclaredReadOnly, type Tool } from '../../core/tool.ts';
import type { SafetyMode } from './decision.ts';

/** Every mode, the loosest last. */
export const safetyModes = ['restricted', 'strict', 'balanced', 'autonomous'] as const satisfies SafetyMode[];

/** What happens to the calls of a tool: they run, a person is asked, or they are refused. */
export type Verdict = 'run' | 'ask' | 'refuse';

const ORDER: readonly Verdict[] = ['run', 'ask', 'refuse'];

/** What happens to the calls of a tool where all these modes hold: the strictest counts. */
export function verdictOn(tool: Tool, modes: readonly SafetyMode[]): Verdict {
  const isProven = isDeclaredReadOnly(tool);
  const strictness = modes.map((mode) => ORDER.indexOf(verdictOf(mode, isProven)));
  return ORDER[Math.max(...strictness)]!;
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
