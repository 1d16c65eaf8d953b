import type { z } from 'zod';
import { absentTools, unknownTool } from '../../core/absent-tool.ts';
import type { Reading, ToolCall } from '../../core/call.ts';
import type { Caller } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { unknownReading, type Readable } from '../../core/expose-readings.ts';
import { theirAddress } from '../../core/merging/address-names.ts';
import type { ResourceTemplate } from '../../core/resources/resource.ts';
import type { Next, Stage } from '../../core/stage.ts';
import { governedName, type Tool } from '../../core/tool.ts';
import { checkAccess, type AccessComplaint } from './check.ts';
import {
  callerScope,
  loadConditions,
  type AccessCondition,
  type CompileCondition,
  type ConditionScope,
} from './condition.ts';
import { createPolicy, type AccessPolicy, type AccessVerdict } from './policy.ts';
import { accessOptions, compileRule, type CompiledRule } from './rules.ts';
import { toConditionValue } from './condition-values.ts';

/** What access rules need. */
export interface AccessParts {
  /** Loads the evaluator of conditions; called only if a rule has one. */
  readonly loadConditions?: () => Promise<CompileCondition>;
}

/** Two stages that apply one access policy. */
export interface Access {
  /** Hides what a caller may not use; must come before the arguments are checked. */
  readonly byName: Stage;
  /** Evaluates conditions; must come after the arguments are checked and defaults filled in. */
  readonly byCondition: Stage;
  /** Problems of the rules, given the tools; rules with an error must not be used. */
  check(tools: readonly Tool[], upstreams?: readonly string[]): AccessComplaint[];
}

/** Makes the stages that let callers see and call only what the rules allow. */
export async function createAccess(
  rules: z.input<typeof accessOptions>,
  parts: AccessParts = {},
): Promise<Access> {
  const parsed = accessOptions.parse(rules, { jitless: true });
  const compiled = parsed.map(compileRule);
  const policy = createPolicy(compiled);
  const conditions = await compileConditions(compiled, parts.loadConditions ?? loadConditions);
  return {
    byName: authorizeByName(policy),
    byCondition: authorizeArguments(policy, conditions),
    check: (tools, upstreams = []) => checkAccess(compiled, conditions, { tools, upstreams }),
  };
}

type Conditions = ReadonlyMap<CompiledRule, AccessCondition>;

async function compileConditions(
  rules: readonly CompiledRule[],
  load: () => Promise<CompileCondition>,
): Promise<Conditions> {
  const conditional = rules.filter(({ when }) => when !== undefined);
  if (conditional.length === 0) return new Map();
  const compile = await load();
  return new Map(conditional.map((rule) => [rule, compile(rule.when!)]));
}

function authorizeByName(policy: AccessPolicy): Stage {
  return {
    name: 'authorize',
    viewOf: (caller) => policy.viewOf(caller),
    expose: (tool, caller) => (policy.tool(tool, caller).isListed ? tool : null),
    exposeReading: (target, caller, address) => targetVerdict(policy, caller, { target, address }).isListed,
    wrap(tool, next) {
      if (absentTools.has(tool)) return next;
      return (call) => {
        const verdict = policy.tool(tool, call.caller);
        call.record.rule = verdict.note;
        if (!verdict.isListed) throw unknownTool(tool.name);
        return next(call);
      };
    },
    wrapReading: (next) => (call) => {
      const verdict = readingVerdict(policy, call);
      call.record.rule = verdict.note;
      if (!verdict.isListed) throw unknownReading(call);
      return next(call);
    },
  };
}

function readingVerdict(policy: AccessPolicy, call: Reading): AccessVerdict {
  switch (call.kind) {
    case 'prompt':
      return policy.reading(call.prompt, call.caller);
    case 'completion':
      return policy.reading(call.target, call.caller);
    case 'resource':
      return targetVerdict(policy, call.caller, { target: call.resource, address: call.uri });
  }
}

interface Addressed {
  readonly target: Readable;
  readonly address: string | undefined;
}

// A template matches many URIs, and one URI can be written in several ways: every form must be allowed.
function targetVerdict(policy: AccessPolicy, caller: Caller, { target, address }: Addressed): AccessVerdict {
  const verdict = policy.reading(target, caller);
  if (!verdict.isListed || address === undefined || !('uriTemplate' in target)) return verdict;
  const decoded = decode(address);
  if (/(^|[/\\])\.\.?([/\\?#]|$)/.test(decoded)) return { ...verdict, isListed: false, note: 'access' };
  const plain = policy.address(ruledAddress(address, target), caller);
  if (!plain.isListed || decoded === address) return plain;
  return policy.address(ruledAddress(decoded, target), caller);
}

// Rules name the upstream and its own address of a resource, not the one that callers see.
function ruledAddress(address: string, { uriTemplate, place }: ResourceTemplate): string {
  return place ? `${place.source}.${theirAddress(address, uriTemplate, place.name)}` : address;
}

function decode(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

function authorizeArguments(policy: AccessPolicy, conditions: Conditions): Stage {
  const conditional = [...conditions.keys()];
  return {
    name: 'authorizeArguments',
    wrap(tool, next) {
      if (absentTools.has(tool) || !conditional.some(({ covers }) => covers.tools(governedName(tool))))
        return next;
      const access: ToolAccess = {
        policy,
        conditions,
        tool,
        shown: new Map([['name', governedName(tool)]]),
        next,
      };
      return (call) => decideCall(call, access);
    },
  };
}

interface ToolAccess {
  readonly policy: AccessPolicy;
  readonly conditions: Conditions;
  readonly tool: Tool;
  /** What conditions see of the tool: never its annotations, which its author chose. */
  readonly shown: ReadonlyMap<string, unknown>;
  readonly next: Next;
}

function decideCall(call: ToolCall, { policy, conditions, tool, shown, next }: ToolAccess): ReturnType<Next> {
  const verdict = policy.tool(tool, call.caller);
  if (!verdict.isListed) throw unknownTool(tool.name);
  if (!verdict.conditions) return next(call);
  const scope = scopeOf(call, shown);
  let message: string | undefined;
  for (const rule of verdict.conditions) {
    const condition = conditions.get(rule);
    // A condition that cannot be evaluated never allows, and always denies.
    const isMatch = !condition || ((scope && condition.holds(scope)) ?? !rule.allows);
    if (!isMatch) {
      if (rule.allows) message ??= rule.message;
      continue;
    }
    call.record.rule = rule.note;
    if (rule.allows) return next(call);
    throw refusal(tool, rule.message);
  }
  call.record.rule = 'access';
  throw refusal(tool, message);
}

function scopeOf(call: ToolCall, tool: ToolAccess['shown']): ConditionScope | undefined {
  const { caller, tenant } = callerScope(call.caller);
  try {
    return { args: toConditionValue(call.arguments), caller, tenant, tool };
  } catch {
    return undefined;
  }
}

function refusal(tool: Tool, message: string | undefined): ToolcribError {
  return new ToolcribError(
    'refused',
    message ??
      `You may not use ${tool.name} with these arguments. Do not repeat the call as it is; it may be allowed with others.`,
  );
}
