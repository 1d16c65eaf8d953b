import { moveReferences } from '../../schema/references.ts';
import { ToolcribError } from '../../base/errors.ts';
import { escapeUnseen } from '../../base/escape-unseen.ts';
import { isObject } from '../../base/json.ts';
import type { JsonSchema, ObjectSchema, Outcome, Parse } from '../../schema/schema.ts';
import { andThen } from '../../base/awaitable.ts';
import { changeTool, isDeclaredHarmless, isDeclaredReadOnly, type Tool } from '../tool.ts';
import { validatorOf } from '../../schema/validator.ts';

/** What a tool answers that waits to be confirmed: nothing was done. */
export interface Confirmation {
  readonly status: 'confirmation_required';
  readonly message: string;
}

/** How a tool asks. */
export interface ConfirmationOptions {
  /** Says how to confirm; what would be done follows. */
  readonly message?: string;
}

/**
 * The same tool, which does nothing until it is called with `confirmed: true`: until then it says what it would do. The
 * handler never sees that argument; where the tool has a `confirmed` of its own, it is called `toolcrib_confirmed`.
 */
export function requireConfirmation(tool: Tool<never>, { message }: ConfirmationOptions = {}): Tool {
  const asked = tool as Tool;
  if (askerOf(asked) === 'tool') return asked;
  const offered = offerConfirmation(asked);
  const argument = consentArgument(offered);
  askers.set(offered.inputSchema, { by: 'tool', argument });
  if (message !== undefined) requests.set(offered.inputSchema, message);
  return Object.freeze({
    ...offered,
    handler: (args: Arguments, context) =>
      args[argument] === true ? offered.handler(args, context) : confirmationFor(offered, args),
  } satisfies Tool);
}

/** The same tool as callers see it behind a stage that asks: with the consent argument and its result. */
export function offerConfirmation(tool: Tool): Tool {
  const argument = freeArgument(tool);
  const inputSchema = {
    ...tool.inputSchema,
    properties: { ...tool.inputSchema.properties, [argument]: CONSENT },
  };
  askers.set(inputSchema, { by: 'line', argument });
  const { outputSchema } = tool;
  return changeTool(tool, {
    description: `${tool.description} ${mayDestroy(tool) ? 'DESTRUCTIVE - requires' : 'Requires'} confirmation.`,
    inputSchema,
    parseInput: parseConfirmed(tool, argument),
    ...(outputSchema && { outputSchema: orConfirmation(outputSchema), parseOutput: parseResult(tool) }),
    ...(tool.authorize && {
      authorize: (args, caller) => tool.authorize!(without(argument, args), caller),
    }),
    handler: (args, context) => tool.handler(without(argument, args), context),
  });
}

/** Who asks before a tool runs: the tool itself, a stage before it, or nobody as far as is known. */
export function askerOf(tool: Tool): 'tool' | 'line' | undefined {
  return askers.get(tool.inputSchema)?.by;
}

/** The argument that says that a call is confirmed, or would if the tool had to ask. */
export function consentArgument(tool: Tool): string {
  return askers.get(tool.inputSchema)?.argument ?? freeArgument(tool);
}

/** The arguments of a tool without the one that says that a call is confirmed. */
export function withoutConsent(tool: Tool, args: Arguments): Arguments {
  return without(consentArgument(tool), args);
}

/** Whether a tool may do something that cannot be undone; as in the protocol, silence means yes. */
export function mayDestroy(tool: Tool): boolean {
  return !isDeclaredReadOnly(tool) && !isDeclaredHarmless(tool);
}

/** The answer of a tool that waits to be confirmed: what it would do, and how to have it done. */
export function confirmationFor(tool: Tool, args: Arguments): Confirmation {
  const { name, inputSchema } = tool;
  const request = requests.get(inputSchema);
  const preview = `Nothing was done. ${name} would run with ${shown(withoutConsent(tool, args))}.`;
  const what = /delet|remov|eras|destroy|drop|purge|wipe/i.test(name) ? 'deletion ' : '';
  const usual = `Please confirm ${what}by calling with ${consentArgument(tool)}=true`;
  const more = ' Ask the person you work for first, and call again with the same arguments.';
  const asked = request ?? usual;
  const message = `${asked}${/[.!?]$/.test(asked) ? '' : '.'} ${preview}${request === undefined ? more : ''}`;
  return { status: 'confirmation_required', message };
}

type Arguments = Readonly<Record<string, unknown>>;

// Known by the schema object, which every copy of the tool carries along.
const askers = new WeakMap<ObjectSchema, { readonly by: 'tool' | 'line'; readonly argument: string }>();
const requests = new WeakMap<ObjectSchema, string>();

// An argument of the tool's own means what its author wants, and must not pass for consent.
function freeArgument({ inputSchema }: Tool): string {
  let argument = 'confirmed';
  while (Object.hasOwn(inputSchema.properties ?? {}, argument)) argument = `toolcrib_${argument}`;
  return argument;
}

function without(argument: string, { [argument]: _consent, ...args }: Arguments): Arguments {
  return args;
}

const CONSENT = {
  type: 'boolean',
  default: false,
  description:
    'Whether the person you work for has agreed to exactly this call. Without it nothing is done, and you are told what would be.',
} as const;

const WAITING = {
  type: 'object',
  properties: { status: { const: 'confirmation_required' }, message: { type: 'string' } },
  required: ['status', 'message'],
  additionalProperties: false,
} as const;

// The tool's own check gets what the tool knows of, whatever it makes of fields it does not know.
function parseConfirmed(tool: Tool, argument: string): Parse {
  const parse: Parse = (args) => tool.parseInput?.(args) ?? validatorOf(tool.inputSchema)(args);
  return (value) => {
    if (!isObject(value)) return parse(value);
    const { [argument]: consent = false } = value;
    return andThen(parse(without(argument, value)), (outcome): Outcome => {
      const issues = 'issues' in outcome && outcome.issues ? outcome.issues : [];
      if (typeof consent !== 'boolean')
        return { issues: [{ path: [argument], message: 'must be true or false' }, ...issues] };
      if (issues.length > 0) return { issues };
      return { value: { ...plain(outcome, tool), [argument]: consent } };
    });
  };
}

function plain(outcome: Outcome, { name }: Tool): Arguments {
  const value = 'value' in outcome ? outcome.value : undefined;
  if (isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null))
    return value;
  throw new ToolcribError(
    'tool_failed',
    `${name} cannot be confirmed: its own check makes something other than a plain object of its arguments.`,
  );
}

function parseResult(tool: Tool): Parse {
  return (value) => {
    if (isWaiting(value)) return { value };
    return tool.parseOutput?.(value) ?? validatorOf(tool.outputSchema!)(value);
  };
}

function isWaiting(value: unknown): boolean {
  return isObject(value) && value['status'] === WAITING.properties.status.const && 'message' in value;
}

function orConfirmation(schema: JsonSchema): JsonSchema {
  const { $schema, ...own } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    ...(schema['type'] === 'object' && { type: 'object' }),
    anyOf: [moveReferences(own, '#/anyOf/0'), WAITING],
  };
}

const MAX_SHOWN = 1_000;

function shown(args: Arguments): string {
  const text = toText(args);
  if (text === undefined) return 'these arguments';
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length} characters in all)` : text;
}

// What cannot be seen would hide a part of what is agreed to.
function toText(args: Arguments): string | undefined {
  try {
    return escapeUnseen(JSON.stringify(args));
  } catch {
    // A check of the tool's own may make values that are no JSON.
    return undefined;
  }
}
