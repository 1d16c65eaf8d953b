import type { ListedTool } from '../core/tool.ts';
import { remarkIf, type Remark, type Rule } from './finding.ts';

/** How large a tool may be for a model. */
export const sizeRules: readonly Rule[] = [{ id: 'size-tool', check: checkSize }];

/** About how many tokens a tool takes in a list: a quarter of the characters of its JSON. */
export function estimateListedTokens(tool: ListedTool): number {
  return Math.ceil(JSON.stringify(tool).length / 4);
}

const MAX_TOKENS = 1_500;

function checkSize(tool: ListedTool): readonly Remark[] {
  const tokens = estimateListedTokens(tool);
  return remarkIf(tokens > MAX_TOKENS, {
    severity: 'warning',
    message: `Make it smaller than about ${tokens} tokens (characters / 4), ${MAX_TOKENS} at most: a model reads it before every answer.`,
  });
}
