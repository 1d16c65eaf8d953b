import { z } from 'zod';
import type { Caller } from '../../core/caller.ts';
import { compileGlob, restsAfter } from '../../base/glob.ts';

const MAX_RULES = 1_000;
const MAX_CONDITION = 2_000;
const names = z.array(z.string().min(1).max(500)).max(1_000);

/** One access rule as written: which callers, which targets, and the decision. */
export const accessRule = z
  .strictObject({
    roles: names
      .default([])
      .describe('The caller has any of these roles; left out, the role does not matter.'),
    scopes: names.default([]).describe('The caller has all of these scopes.'),
    tenants: names.default([]).describe('The caller belongs to any of these tenants, by id.'),
    callers: names.default([]).describe('The caller is any of these, by id.'),
    tools: names.default([]).describe('The tools it is about, by name; "*" stands for any characters.'),
    prompts: names.default([]).describe('The prompts it is about, by name.'),
    resources: names.default([]).describe('The resources it is about, by address.'),
    effect: z.enum(['allow', 'deny']).default('allow').describe('What a match means.'),
    when: z
      .string()
      .min(1)
      .max(MAX_CONDITION)
      .optional()
      .describe('A CEL expression over the checked arguments; the rule matches only where it is true.'),
    message: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('What the model is told when the condition keeps it from a call; goes with `when`.'),
  })
  .refine(({ tools, prompts, resources }) => tools.length + prompts.length + resources.length > 0, {
    error: 'A rule needs tools, prompts or resources to be about; write tools: ["*"] for all tools.',
  })
  .refine(
    ({ when, tools, prompts, resources }) =>
      when === undefined || (tools.length > 0 && prompts.length + resources.length === 0),
    {
      path: ['when'],
      error: '"when" is for tools alone: put prompts and resources into a rule of their own, without it.',
    },
  )
  .refine(({ when, message }) => message === undefined || when !== undefined, {
    path: ['message'],
    error: '"message" goes with "when": what has no condition is hidden from those it refuses.',
  });

/** The `access` list of the configuration: the first matching rule decides; without a match the call is refused. */
export const accessOptions = z.array(accessRule).max(MAX_RULES);

/** The kinds of targets of a rule. */
export type AccessKind = 'tools' | 'prompts' | 'resources';

/** A compiled rule. */
export interface CompiledRule {
  readonly index: number;
  /** Its name in the record. */
  readonly note: string;
  readonly allows: boolean;
  readonly when: string | undefined;
  /** The text for calls that the condition refuses. */
  readonly message: string | undefined;
  readonly namesTools: boolean;
  readonly appliesTo: (caller: Caller) => boolean;
  readonly covers: Readonly<Record<AccessKind, (name: string) => boolean>>;
  /** Whether it could cover a tool of an upstream whose tools are not known. */
  readonly mayCover: (upstream: string) => boolean;
}

/** Compiles a rule. */
export function compileRule(rule: z.output<typeof accessRule>, index: number): CompiledRule {
  const roles = new Set(rule.roles);
  const tenants = new Set(rule.tenants);
  const callers = new Set(rule.callers);
  return {
    index,
    note: `access[${index}]`,
    allows: rule.effect === 'allow',
    when: rule.when,
    message: rule.message,
    namesTools: rule.tools.length > 0,
    appliesTo: (caller) =>
      (roles.size === 0 || caller.roles.some((role) => roles.has(role))) &&
      (tenants.size === 0 || tenants.has(caller.tenant.id)) &&
      (callers.size === 0 || callers.has(caller.id)) &&
      rule.scopes.every((scope) => caller.scopes.includes(scope)),
    covers: {
      tools: anyOf(rule.tools),
      prompts: anyOf(rule.prompts),
      resources: anyOf(rule.resources),
    },
    mayCover: (upstream) => rule.tools.some((pattern) => restsAfter(pattern, `${upstream}.`).length > 0),
  };
}

function anyOf(globs: readonly string[]): (name: string) => boolean {
  const tests = globs.map(compileGlob);
  return (name) => tests.some((test) => test(name));
}
