import type { Ajv2020, CodeKeywordDefinition, KeywordCxt } from 'ajv/dist/2020.js';
import type * as AjvModule from 'ajv/dist/2020.js';
import { JsonIndex, type StepBudget } from '../base/json-index.ts';

type Write = typeof AjvModule._;

// Up to this many choices are compared one by one in the generated code.
const FEW_CHOICES = 16;

/** Makes the validator check `uniqueItems` and long `enum`s in linear time, within a budget for each check. */
export function checkInLinearTime(ajv: Ajv2020, write: Write, budget: StepBudget): void {
  replace(ajv, 'uniqueItems', (cxt) => {
    if (cxt.schema !== true) return;
    const search = cxt.gen.scopeValue('func', {
      ref: (items: readonly unknown[]) => repeatIn(items, budget),
    });
    const found = cxt.gen.const('repeated', write`${search}(${cxt.data})`);
    cxt.setParams({ i: write`${found}.i`, j: write`${found}.j` });
    cxt.fail(write`${found} !== undefined`);
  });
  replace(ajv, 'enum', (cxt, before) => {
    const choices = cxt.schema as readonly unknown[];
    if (choices.length <= FEW_CHOICES) return before(cxt);
    // The choices come from the author, so indexing them uses no budget.
    const index = new JsonIndex({ steps: Infinity });
    for (const choice of choices) index.add(choice);
    const isChoice = cxt.gen.scopeValue('func', { ref: (value: unknown) => index.has(value) });
    cxt.pass(write`${isChoice}(${cxt.data})`);
  });
}

/** Makes branches that do not match report no errors: writing them takes ten times as long as finding them. */
export function leaveNoComplaints(ajv: Ajv2020): void {
  for (const keyword of ['anyOf', 'oneOf']) {
    replace(ajv, keyword, (cxt, before) => {
      const subschema = cxt.subschema.bind(cxt);
      cxt.subschema = (applied, valid) => subschema({ ...applied, createErrors: false }, valid);
      before(cxt);
    });
  }
}

type WriteCode = (cxt: KeywordCxt) => void;

function replace(ajv: Ajv2020, keyword: string, code: (cxt: KeywordCxt, before: WriteCode) => void): void {
  const known = ajv.getKeyword(keyword) as CodeKeywordDefinition;
  ajv.removeKeyword(keyword);
  ajv.addKeyword({ ...known, code: (cxt) => code(cxt, (same) => known.code(same)) });
}

/** Finds two equal items of a list. */
export function repeatIn(
  items: readonly unknown[],
  budget: StepBudget,
): { i: number; j: number } | undefined {
  const index = new JsonIndex(budget);
  for (const [i, item] of items.entries()) {
    const j = index.add(item);
    if (j !== undefined) return { i, j };
  }
  return undefined;
}
