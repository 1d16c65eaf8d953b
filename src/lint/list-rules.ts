import type { ListedTool } from '../core/tool.ts';
import { remarkIf, type Finding, type Remark } from './finding.ts';
import { wordsOf } from './name-words.ts';
import { estimateListedTokens } from './size-rules.ts';

/** A rule about a list of tools. */
export interface ListRule {
  readonly id: string;
  readonly check: (tools: readonly ListedTool[]) => readonly Omit<Finding, 'rule'>[];
}

/** What a list of tools must be so that a model can choose from it. */
export const listRules: readonly ListRule[] = [
  { id: 'name-similar', check: checkNames },
  { id: 'description-repeated', check: checkDescriptions },
  { id: 'tool-count', check: checkCount },
  { id: 'size-total', check: checkSize },
];

const MAX_TOOLS = 128;
const MANY_TOOLS = 40;
const MAX_TOKENS = 20_000;

function checkNames(tools: readonly ListedTool[]): readonly Omit<Finding, 'rule'>[] {
  return [
    ...pairsBy(tools, ({ name }) => name).map(([tool]) => ({
      tool,
      severity: 'error' as const,
      message: 'Rename one of the two tools of this name: a client sees only one of them.',
      path: 'name',
    })),
    ...pairsBy(distinct(tools), ({ name }) => spellingOf(name)).map(([tool, other]) => ({
      tool,
      severity: hasSameWords(tool, other) ? ('warning' as const) : ('hint' as const),
      message: `Rename it or "${other}": a model mixes up names that differ only in spelling, order or number.`,
      path: 'name',
    })),
  ];
}

// Ignores case, separators, the order of words and plurals, which are easily overlooked.
function spellingOf(name: string): string {
  return wordsOf(name)
    .map((word) => word.replace(/s$/, ''))
    .toSorted()
    .join(' ');
}

function hasSameWords(name: string, other: string): boolean {
  return wordsOf(name).toSorted().join(' ') === wordsOf(other).toSorted().join(' ');
}

function checkDescriptions(tools: readonly ListedTool[]): readonly Omit<Finding, 'rule'>[] {
  const described = distinct(tools).filter(
    ({ description }) => typeof description === 'string' && description.trim() !== '',
  );
  return pairsBy(described, ({ description }) => wordsOf(description).join(' ')).map(([tool, other]) => ({
    tool,
    severity: 'warning',
    message: `Say how it differs from "${other}", which has the same description.`,
    path: 'description',
  }));
}

function checkCount(tools: readonly ListedTool[]): readonly Remark[] {
  const { length } = tools;
  const isTooMany = length > MAX_TOOLS;
  return remarkIf(length > MANY_TOOLS, {
    severity: isTooMany ? 'warning' : 'hint',
    message: `Offer fewer than ${length} tools at a time: ${isTooMany ? `model APIs take ${MAX_TOOLS}` : `some hosts take ${MANY_TOOLS}`}, and models choose worse from many.`,
  });
}

function checkSize(tools: readonly ListedTool[]): readonly Remark[] {
  const tokens = tools.reduce((sum, tool) => sum + estimateListedTokens(tool), 0);
  return remarkIf(tokens > MAX_TOKENS, {
    severity: 'warning',
    message: `Make it smaller than about ${tokens} tokens (characters / 4), or offer fewer tools: a host may put the whole list in front of every conversation.`,
  });
}

function distinct(tools: readonly ListedTool[]): readonly ListedTool[] {
  return [...new Map(tools.map((tool) => [tool.name, tool])).values()];
}

/** Each tool with the same key as an earlier one, with that one. */
function pairsBy(
  tools: readonly ListedTool[],
  keyOf: (tool: ListedTool) => string,
): readonly (readonly [tool: string, other: string])[] {
  const first = new Map<string, string>();
  return tools.flatMap((tool) => {
    const key = keyOf(tool);
    const other = first.get(key);
    if (other !== undefined) return [[tool.name, other] as const];
    first.set(key, tool.name);
    return [];
  });
}
