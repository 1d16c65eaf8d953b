import { isObject } from '../base/json.ts';
import { resolverOf } from '../schema/references.ts';
import type { ListedTool } from '../core/tool.ts';
import { remarkIf, type Remark, type Rule } from './finding.ts';
import { schemasIn, type SchemaPlace } from './places.ts';

/** What descriptions must say so that a model can choose a tool and fill in its arguments. */
export const descriptionRules: readonly Rule[] = [
  { id: 'description-length', check: checkLength },
  { id: 'description-returns', check: checkReturns },
  { id: 'description-when', check: checkWhen },
  { id: 'parameter-description', check: checkParameters },
];

const FEWEST_WORDS = 5;
const LONGEST = 1_024;

const RETURNS =
  /\b(?:returns?|returned|returning|gives? (?:back|you|the|a)|answers?|yields?|responds?|outputs?|produces?|results?|reports?|tells?|shows?|lists|prints?|emits?|links? to)\b/i;
const WHEN =
  /\b(?:use (?:it|this|them|these|when|to|for|if|after|before|whenever|only|instead)|useful|when(?:ever)?|before you|after you|to find out|call (?:it|this)|good for|for example|instead of|prefer)\b/i;

function checkLength({ description }: ListedTool): readonly Remark[] {
  const text = textOf(description);
  const path = 'description';
  if (text === '')
    return [
      {
        severity: 'error',
        message: 'Describe the tool: what it does, what it returns, and when to use it.',
        path,
      },
    ];
  if (text.length > LONGEST)
    return [
      {
        severity: 'warning',
        message: `Shorten the description from ${text.length} to ${LONGEST} characters: model APIs refuse longer ones, or clients cut them off.`,
        path,
      },
    ];
  const words = text.split(/\s+/).length;
  return remarkIf(words < FEWEST_WORDS && !isWithoutSpaces(text), {
    severity: 'warning',
    message: `Say more than ${words === 1 ? 'one word' : `${words} words`}: what the tool does, what it returns, and when to use it.`,
    path,
  });
}

function checkReturns({ description }: ListedTool): readonly Remark[] {
  const text = textOf(description);
  return remarkIf(text !== '' && !RETURNS.test(text), {
    severity: 'warning',
    message: 'Say what the tool returns: "Returns id, title and address of each page."',
    path: 'description',
  });
}

function checkWhen({ description }: ListedTool): readonly Remark[] {
  const text = textOf(description);
  return remarkIf(text !== '' && !WHEN.test(text), {
    severity: 'hint',
    message: 'Say when to use the tool: "Use it to find a page before reading it."',
    path: 'description',
  });
}

function checkParameters({ inputSchema }: ListedTool): readonly Remark[] {
  if (!isObject(inputSchema)) return [];
  const follow = resolverOf(inputSchema);
  return schemasIn(inputSchema, 'inputSchema')
    .filter((place) => place.role === 'property' && needsDescription(place, follow))
    .map(({ path, name, levels }) => ({
      severity: levels === 1 ? 'warning' : 'hint',
      message: `Describe "${name}": what to put there, with an example or its unit.`,
      path,
    }));
}

function needsDescription({ node, isCondition }: SchemaPlace, follow: (pointer: string) => unknown): boolean {
  // A constant needs no description.
  if (isCondition || 'const' in node || isDescribed(node)) return false;
  const target = typeof node['$ref'] === 'string' ? follow(node['$ref']) : undefined;
  return !(isObject(target) && isDescribed(target));
}

function isDescribed({ description }: Readonly<Record<string, unknown>>): boolean {
  return textOf(description) !== '';
}

// Some scripts put no spaces between words.
function isWithoutSpaces(text: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(text);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
