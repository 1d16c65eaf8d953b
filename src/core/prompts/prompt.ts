import { isContentBlock, type ContentBlock } from '../content.ts';
import type { ToolContext } from '../context.ts';
import { ToolcribError } from '../../base/errors.ts';
import { shownName } from '../../base/shown-name.ts';
import type { LongIntegers } from '../../base/exact-json.ts';
import type { Issue } from '../../schema/schema.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import { checkToolName, type Icon } from '../tool.ts';
import type { NamedPlace } from '../tool-names.ts';
import { describeIssues } from '../../schema/validator.ts';

const MAX_NAME_LENGTH = 64;
const MAX_SUGGESTIONS = 100;

/** What a completion may look at beside the text typed so far. */
export interface CompletionContext {
  /** The values already chosen for other arguments or variables. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly context: ToolContext;
}

/** Suggests values for what a user has typed so far, best first. */
export type Complete = (value: string, context: CompletionContext) => Awaitable<readonly string[]>;

/** Suggestions as a client gets them. */
export interface Completion {
  readonly values: readonly string[];
  readonly total: number;
  readonly hasMore: boolean;
}

/** One thing a prompt asks the user for; always text. */
export interface PromptArgument {
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
  /** Suggests values while the user types. */
  readonly complete?: Complete;
  /** Listed fields that this version does not know, kept as they came. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
}

/** One message of the conversation a prompt starts. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock;
}

/** The conversation a prompt starts. */
export interface PromptMessages {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
}

/** What a prompt may return: the text of one user message, one or more messages, or messages with a description. */
export type PromptValue = string | PromptMessage | readonly PromptMessage[] | PromptMessages;

/** A conversation opener that a user picks by name and fills in. */
export interface Prompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: Readonly<Record<string, PromptArgument>>;
  readonly icons?: readonly Icon[];
  readonly _meta?: Readonly<Record<string, unknown>>;
  /** Where it comes from, in merged sources: the label of its source, and what that source calls it. */
  readonly place?: NamedPlace;
  /** Listed fields that this version does not know, kept as they came. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
  /** Integers of the listed fields that a number cannot hold, by their place. */
  readonly longIntegers?: LongIntegers;
  get(args: Readonly<Record<string, string>>, context: ToolContext): Awaitable<PromptValue>;
}

/** What an author writes down about a prompt. */
export interface PromptDefinition<A extends Prompt['arguments'] = Prompt['arguments']> extends Omit<
  Prompt,
  'get' | 'arguments' | 'place' | 'longIntegers'
> {
  readonly arguments?: A & Prompt['arguments'];
}

/** A prompt as `prompts/list` shows it. */
export interface ListedPrompt extends Omit<
  Prompt,
  'get' | 'arguments' | 'place' | 'extraFields' | 'longIntegers'
> {
  readonly arguments: readonly (Omit<PromptArgument, 'complete' | 'extraFields'> & {
    readonly name: string;
  })[];
}

type Given<A> = { readonly [K in keyof A as A[K] extends { required: true } ? K : never]: string } & {
  readonly [K in keyof A as A[K] extends { required: true } ? never : K]?: string;
};

/** Makes a prompt from its definition and a function; the function's arguments follow from the definition. */
export function definePrompt<const A extends Prompt['arguments'] = {}>(
  definition: PromptDefinition<A>,
  get: (args: Given<A>, context: ToolContext) => Awaitable<PromptValue>,
): Prompt {
  const { name, arguments: args = {} } = definition;
  checkPromptName(name);
  if (Object.hasOwn(args, '')) refuse(name, 'has an argument without a name; give it one.');
  if (typeof get !== 'function') refuse(name, 'needs a function that writes its messages.');
  return Object.freeze({ ...definition, arguments: args, get });
}

/** The part of a prompt that may be shown. */
export function describePrompt(prompt: Prompt): ListedPrompt {
  const { name, title, description, icons, _meta, extraFields } = prompt;
  return {
    ...extraFields,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    arguments: Object.entries(prompt.arguments).map(([key, argument]) => describeArgument(key, argument)),
    ...(icons && { icons }),
    ...(_meta && { _meta }),
  };
}

/** The arguments a prompt may rely on, without those it does not declare; throws `invalid_params` naming each fault. */
export function checkPromptArguments(prompt: Prompt, args: unknown = {}): Record<string, string> {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new ToolcribError('invalid_params', `The arguments of ${prompt.name} must be an object.`);
  const given = new Map<string, unknown>(Object.entries(args));
  const issues: Issue[] = [];
  const known: [string, string][] = [];
  for (const [key, { required }] of Object.entries(prompt.arguments)) {
    const value = given.get(key);
    if (typeof value === 'string') known.push([key, value]);
    else if (value !== undefined) issues.push({ path: [key], message: 'must be a string' });
    else if (required === true) issues.push({ path: [key], message: 'is required' });
  }
  if (issues.length === 0) return Object.fromEntries(known);
  throw new ToolcribError(
    'invalid_params',
    `Invalid arguments for ${prompt.name}: ${describeIssues(issues)}`,
  );
}

/** Turns whatever a prompt returned into its messages. */
export function toMessages(value: unknown): PromptMessages {
  if (typeof value === 'string')
    return { messages: [{ role: 'user', content: { type: 'text', text: value } }] };
  if (isMessage(value)) return { messages: [value] };
  if (isMessageList(value)) return { messages: value };
  if (typeof value === 'object' && value !== null && 'messages' in value && isMessageList(value.messages)) {
    const { messages } = value;
    const description = 'description' in value ? value.description : undefined;
    return { ...(typeof description === 'string' && { description }), messages };
  }
  throw new TypeError(
    'A prompt must return text, messages of the form { role: "user" | "assistant", content: block }, or { messages }.',
  );
}

/** The first hundred suggestions that may be shown, which is the most the protocol allows, and how many there are. */
export function toCompletion(values: readonly string[], isShown?: (value: string) => boolean): Completion {
  if (!Array.isArray(values) || values.some((value) => typeof value !== 'string'))
    throw new TypeError('A completion must return a list of strings.');
  const shown: readonly string[] = isShown ? values.filter(isShown) : values;
  return {
    values: shown.slice(0, MAX_SUGGESTIONS),
    total: shown.length,
    hasMore: shown.length > MAX_SUGGESTIONS,
  };
}

/** The answer for a prompt that does not exist, and equally for one the caller may not see. */
export function unknownPrompt(name: string): ToolcribError {
  return new ToolcribError('unknown_prompt', `Unknown prompt: ${shownName(name)}`, {
    data: { reason: 'prompt_not_found' },
  });
}

function checkPromptName(name: unknown): void {
  try {
    checkToolName(name, MAX_NAME_LENGTH);
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    // The rules are those for tools, down to the wording.
    throw new ToolcribError(error.code, error.message.replace('tool', 'prompt'), { cause: error });
  }
}

function refuse(name: string, problem: string): never {
  throw new ToolcribError('invalid_tool', `Prompt "${name}": ${problem}`);
}

function describeArgument(name: string, argument: PromptArgument): ListedPrompt['arguments'][number] {
  const { title, description, required, extraFields } = argument;
  return {
    ...extraFields,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(required !== undefined && { required }),
  };
}

function isMessage(value: unknown): value is PromptMessage {
  if (typeof value !== 'object' || value === null || !('role' in value) || !('content' in value))
    return false;
  return (value.role === 'user' || value.role === 'assistant') && isContentBlock(value.content);
}

function isMessageList(value: unknown): value is readonly PromptMessage[] {
  return Array.isArray(value) && value.every(isMessage);
}
