import { isObject } from '../base/json.ts';
import type { ListedTool } from '../core/tool.ts';
import { remarkIf, type Remark, type Rule } from './finding.ts';
import { effectOf, verbOf } from './name-words.ts';

/** What annotations must say so that clients know when to ask a person first. */
export const hintRules: readonly Rule[] = [
  { id: 'hint-missing', check: checkMissing },
  { id: 'hint-type', check: checkTypes },
  { id: 'hint-contradiction', check: checkContradictions },
  { id: 'hint-method', check: checkMethod },
  { id: 'audience-value', check: checkAudience },
  { id: 'priority-value', check: checkPriority },
];

type Fields = Readonly<Record<string, unknown>>;

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

function checkMissing(tool: ListedTool): readonly Remark[] {
  const annotations = annotationsOf(tool);
  const isReadOnly = annotations['readOnlyHint'] === true;
  // For a read-only tool, the destructive and idempotent hints mean nothing.
  const needed = HINTS.filter((hint) => !isReadOnly || hint === 'readOnlyHint' || hint === 'openWorldHint');
  const missing = needed.filter((hint) => annotations[hint] === undefined);
  const isUnknown = missing.includes('readOnlyHint');
  return remarkIf(missing.length > 0, {
    severity: isUnknown ? 'warning' : 'hint',
    message: `Add ${missing.join(', ')}: without ${missing.length === 1 ? 'it' : 'them'} clients expect the worst${isUnknown ? ' and may ask a person before every call' : ''}.`,
    path: 'annotations',
  });
}

function checkTypes(tool: ListedTool): readonly Remark[] {
  const annotations = annotationsOf(tool);
  return HINTS.filter(
    (hint) => annotations[hint] !== undefined && typeof annotations[hint] !== 'boolean',
  ).map((hint) => ({
    severity: 'error',
    message: `Make ${hint} true or false: strict clients refuse the whole list over anything else.`,
    path: `annotations.${hint}`,
  }));
}

function checkContradictions(tool: ListedTool): readonly Remark[] {
  const { readOnlyHint, destructiveHint } = annotationsOf(tool);
  if (readOnlyHint !== true) return [];
  const isDestroying = effectOf(tool.name) === 'destroy';
  return [
    ...remarkIf(destructiveHint === true, {
      severity: 'error',
      message: 'Decide: a tool that is read-only cannot be destructive. Set one of the two hints to false.',
      path: 'annotations',
    }),
    ...remarkIf(isDestroying, {
      severity: 'error',
      message: `Set readOnlyHint to false, or rename the tool: "${verbOf(tool.name)}" says that something goes away.`,
      path: 'annotations.readOnlyHint',
    }),
  ];
}

function checkMethod(tool: ListedTool): readonly Remark[] {
  const { readOnlyHint, destructiveHint } = annotationsOf(tool);
  const effect = effectOf(tool.name);
  const verb = verbOf(tool.name);
  return [
    ...remarkIf(effect === 'read' && readOnlyHint === false, {
      severity: 'warning',
      message: `Set readOnlyHint to true, or rename the tool: "${verb}" says that it only looks.`,
      path: 'annotations.readOnlyHint',
    }),
    ...remarkIf(effect === 'write' && readOnlyHint === true, {
      severity: 'warning',
      message: `Set readOnlyHint to false, or rename the tool: "${verb}" says that something changes.`,
      path: 'annotations.readOnlyHint',
    }),
    ...remarkIf(effect === 'destroy' && readOnlyHint !== true && destructiveHint === false, {
      severity: 'warning',
      message: `Set destructiveHint to true, or rename the tool: "${verb}" says that something goes away.`,
      path: 'annotations.destructiveHint',
    }),
  ];
}

function checkAudience(tool: ListedTool): readonly Remark[] {
  const { audience } = annotationsOf(tool);
  if (audience === undefined) return [];
  const isKnown =
    Array.isArray(audience) && audience.every((role) => role === 'user' || role === 'assistant');
  return remarkIf(!isKnown, {
    severity: 'error',
    message:
      'Make audience a list of "user" and "assistant": some clients refuse everything over another value.',
    path: 'annotations.audience',
  });
}

function checkPriority(tool: ListedTool): readonly Remark[] {
  const { priority } = annotationsOf(tool);
  if (priority === undefined) return [];
  return remarkIf(typeof priority !== 'number' || !(priority >= 0 && priority <= 1), {
    severity: 'error',
    message: 'Make priority a number from 0 to 1: strict clients refuse everything else.',
    path: 'annotations.priority',
  });
}

function annotationsOf({ annotations }: ListedTool): Fields {
  return isObject(annotations) ? annotations : {};
}
