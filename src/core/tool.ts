import type { Caller } from './caller.ts';
import type { ToolContext } from './context.ts';
import { ToolcribError } from '../base/errors.ts';
import type { LongIntegers } from '../base/exact-json.ts';
import type { HandlerInput, HandlerOutput } from '../schema/infer.ts';
import {
  readInputSchema,
  readOutputSchema,
  type JsonSchema,
  type ObjectSchema,
  type Parse,
  type SchemaLike,
} from '../schema/schema.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { NamedPlace } from './tool-names.ts';

/** Hints about what a tool does; unknown keys are kept. */
export interface ToolAnnotations {
  /** Shown instead of the name; the tool's own `title` wins. */
  readonly title?: string;
  /** It changes nothing. */
  readonly readOnlyHint?: boolean;
  /** It may do something that cannot be undone. */
  readonly destructiveHint?: boolean;
  /** Calling it twice with the same arguments is the same as calling it once. */
  readonly idempotentHint?: boolean;
  /** It reaches beyond this system. */
  readonly openWorldHint?: boolean;
  readonly [key: string]: unknown;
}

/** An icon of the tool. */
export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
  readonly theme?: 'light' | 'dark';
}

/** Something only some clients can do. */
export type Requirement = 'elicitation' | 'elicitation.url' | 'sampling' | 'roots' | 'tasks';

/** How long a result stays good. */
export interface ToolCache {
  readonly seconds: number;
  /** Whether callers of a tenant get each other's results; only for what does not depend on who asks. */
  readonly shared?: boolean;
}

/** A tool's own decision about a caller and validated arguments: `true`, or else the reason it is refused. */
export type Authorize = (
  args: Readonly<Record<string, unknown>>,
  caller: Caller,
) => Awaitable<boolean | string>;

/** A hint whose absence means caution. */
export type Hint = 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint';

interface ListedFields {
  readonly name: string;
  readonly title?: string;
  /** What it does, what it returns, when to use it: this is what the model chooses by. */
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A tool as `tools/list` shows it, with the fields that this version does not know. */
export interface ListedTool extends ListedFields {
  readonly [field: string]: unknown;
}

/** A definition and a function: what a model can find and run. */
export interface Tool<Input = Record<string, unknown>> extends ListedFields {
  /** Listed fields that this version does not know, such as `execution`, kept as they came. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
  /** Integers of the listed fields that a number cannot hold, by their place. */
  readonly longIntegers?: LongIntegers;
  /** The hints that are only a default, or come from an untrusted source. */
  readonly assumedHints?: readonly Hint[];
  /** Where a tool of merged sources comes from: the label of its source, and what that source calls it. */
  readonly place?: NamedPlace;
  /** The tenant to whose account its server lists it; unset where all callers share one. */
  readonly account?: string;
  /** It asks while it runs at another server, and running it again would not repeat its questions. */
  readonly asksLive?: boolean;
  /** What a client must be able to do for this tool to work; others get an error that says so. */
  readonly requires?: readonly Requirement[];
  readonly authorize?: Authorize;
  /** Lets the `cache` stage keep results. */
  readonly cache?: ToolCache;
  /** The author's own check of the arguments, run instead of the JSON Schema. */
  readonly parseInput?: Parse;
  /** The author's own check of what the handler returned, run instead of the JSON Schema. */
  readonly parseOutput?: Parse;
  handler(args: Input, context: ToolContext): unknown;
}

// Every field of a tool but its function. The compiler checks that none is missing: a new field is added here alone.
const FIELDS: Readonly<Record<Exclude<keyof Tool, 'handler'>, 'listed' | 'kept'>> = {
  name: 'listed',
  title: 'listed',
  description: 'listed',
  inputSchema: 'listed',
  outputSchema: 'listed',
  annotations: 'listed',
  icons: 'listed',
  _meta: 'listed',
  extraFields: 'kept',
  longIntegers: 'kept',
  assumedHints: 'kept',
  place: 'kept',
  account: 'kept',
  asksLive: 'kept',
  requires: 'kept',
  authorize: 'kept',
  cache: 'kept',
  parseInput: 'kept',
  parseOutput: 'kept',
};
const ALL_FIELDS = Object.keys(FIELDS) as (keyof typeof FIELDS)[];
const LISTED_FIELDS = ALL_FIELDS.filter((field) => FIELDS[field] === 'listed');

/** What an author writes down about a tool. */
export interface ToolDefinition<I extends SchemaLike = SchemaLike, O extends SchemaLike = SchemaLike>
  extends
    Omit<ListedFields, 'inputSchema' | 'outputSchema'>,
    Pick<Tool, 'extraFields' | 'requires' | 'cache'> {
  /**
   * Zod, ArkType or another Standard Schema that describes itself as JSON Schema, or JSON Schema. Without it: no
   * arguments.
   */
  readonly input?: I;
  /** As `input`, for what the handler returns. */
  readonly output?: O;
  /** Whether this caller may do this with these arguments, asked before every run: `true`, or the reason it may not. */
  readonly authorize?: (args: HandlerInput<I>, caller: Caller) => Awaitable<boolean | string>;
}

type Handler<I, O> = (
  args: HandlerInput<I>,
  context: ToolContext,
) => SchemaLike extends O
  ? unknown
  : MaybePromise<HandlerOutput<O> | ErrorEnvelope | FullOutcome<HandlerOutput<O>>>;

type MaybePromise<T> = T | Promise<T>;
type ErrorEnvelope = { readonly error: string } | { readonly success: false };
type FullOutcome<T> = {
  readonly content: readonly unknown[];
  readonly structuredContent?: T;
  readonly isError?: boolean;
};

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false } as const;

/** Makes a tool from its definition and a function; the function's types follow from the schemas. */
export function defineTool<
  const I extends SchemaLike = typeof NO_ARGUMENTS,
  const O extends SchemaLike = SchemaLike,
>(definition: ToolDefinition<I, O>, handler: Handler<I, O>): Tool<HandlerInput<I>> {
  const { input, output, authorize, ...described } = definition;
  return labelled(described.name, () => {
    checkParts(definition, handler);
    const readInput = readInputSchema(input ?? NO_ARGUMENTS);
    const readOutput = output && readOutputSchema(output);
    return Object.freeze({
      ...described,
      inputSchema: readInput.json,
      ...(readInput.parse && { parseInput: readInput.parse }),
      ...(readOutput && { outputSchema: readOutput.json }),
      ...(readOutput?.parse && { parseOutput: readOutput.parse }),
      ...(authorize && { authorize: authorize as Authorize }),
      handler,
    });
  });
}

// For authors without type checks: an error that names the mistake, instead of a tool that cannot work.
function checkParts(definition: object, handler: unknown): void {
  for (const [wrong, right] of [
    ['inputSchema', 'input'],
    ['outputSchema', 'output'],
    ['schema', 'input'],
  ] as const) {
    if (wrong in definition)
      throw new ToolcribError('invalid_tool', `defineTool takes "${right}", not "${wrong}".`);
  }
  if (typeof handler !== 'function') {
    throw new ToolcribError('invalid_tool', 'needs a function: defineTool(definition, handler).');
  }
}

/** Whether its author, and not a default, says that a tool changes nothing. */
export function isDeclaredReadOnly(tool: Tool): boolean {
  return tool.annotations?.readOnlyHint === true && !isAssumed(tool, 'readOnlyHint');
}

/** Whether its author says that calling a tool twice is the same as calling it once. */
export function isDeclaredIdempotent(tool: Tool): boolean {
  return tool.annotations?.idempotentHint === true && !isAssumed(tool, 'idempotentHint');
}

/** Whether its author says that nothing a tool does is beyond undoing. */
export function isDeclaredHarmless(tool: Tool): boolean {
  return tool.annotations?.destructiveHint === false && !isAssumed(tool, 'destructiveHint');
}

/** Whether its author says that a tool reaches what is outside of its own system; `undefined` if nothing is said. */
export function declaredOpenWorld(tool: Tool): boolean | undefined {
  return isAssumed(tool, 'openWorldHint') ? undefined : tool.annotations?.openWorldHint;
}

function isAssumed({ assumedHints }: Tool, hint: Hint): boolean {
  return assumedHints !== undefined && assumedHints.includes(hint);
}

/** A copy of a tool with some parts changed; it is made of the same code. */
export function changeTool(tool: Tool, changes: Partial<Tool>): Tool {
  // Field by field, because a tool may be an instance whose fields are inherited, or that holds more than a tool has.
  const fields = ALL_FIELDS.flatMap((field) => (tool[field] === undefined ? [] : [[field, tool[field]]]));
  const copy: Tool = {
    ...(Object.fromEntries(fields) as Omit<Tool, 'handler'>),
    handler: (args, context) => tool.handler(args, context),
    ...changes,
  };
  nameCode(copy, codeOf(tool));
  authored.set(copy, asAuthored(tool));
  return copy;
}

/** A tool as it was before any copy of it was changed: what its author, or its server, says about it. */
export function asAuthored(tool: Tool): Tool {
  return authored.get(tool) ?? tool;
}

const authored = new WeakMap<Tool, Tool>();

/** A tool that a stage changed: marked as the same code, with the same hints as only assumed. */
export function trustedLike(tool: Tool, shown: Tool): Tool {
  nameCode(shown, codeOf(tool));
  const assumed = tool.assumedHints?.filter((hint) => !isAssumed(shown, hint));
  if (!assumed || assumed.length === 0) return shown;
  return changeTool(shown, { assumedHints: [...assumed, ...(shown.assumedHints ?? [])] });
}

/** Names the code of a tool, so that it is recognised when it is loaded again. */
export function nameCode(tool: Tool, code: string): void {
  codes.set(tool, code);
}

/** The name of the code of a tool; one without a name gets one that no other has. */
export function codeOf(tool: Tool): string {
  let code = codes.get(tool);
  if (code === undefined) codes.set(tool, (code = `#${++lastCode}`));
  return code;
}

const codes = new WeakMap<Tool, string>();
let lastCode = 0;

/** The part of a tool that may be shown; nothing else an instance holds, such as a credential, ever is. */
export function describeTool(tool: Tool): ListedTool {
  const { extraFields, annotations } = tool;
  const fields: [string, unknown][] = [];
  for (const field of LISTED_FIELDS) {
    if (tool[field] !== undefined && tool[field] !== null) fields.push([field, tool[field]]);
  }
  if (extraFields) fields.push(...Object.entries(extraFields).filter(([field]) => !isListedField(field)));
  const listed = Object.fromEntries(fields);
  if (annotations && Object.keys(annotations).length === 0) delete listed['annotations'];
  return listed as ListedTool;
}

/** A tool as another server lists it, with a function that runs it; unknown fields are kept. */
export function fromListed(listed: ListedTool, handler: Tool['handler']): Tool {
  const [known, others] = [true, false].map((isKnown) =>
    Object.fromEntries(Object.entries(listed).filter(([field]) => isListedField(field) === isKnown)),
  );
  return Object.freeze({
    ...(known as unknown as ListedFields),
    ...(Object.keys(others!).length > 0 && { extraFields: others! }),
    handler,
  });
}

function isListedField(field: string): boolean {
  return LISTED_FIELDS.some((known) => known === field);
}

/** The name that rules, limits and the record use: `server.tool` for a tool of another server, else its own name. */
export function governedName({
  name,
  place,
}: {
  readonly name: string;
  readonly place?: NamedPlace;
}): string {
  return place ? `${place.source}.${place.name}` : name;
}

/** The name to show to people: the title, else the annotation's title, else the name. */
export function displayName(tool: Pick<Tool, 'name' | 'title' | 'annotations'>): string {
  return tool.title ?? tool.annotations?.title ?? tool.name;
}

/** Refuses a name that clients or models could not use, and says what to change. */
export function checkToolName(name: unknown, maxLength: number): asserts name is string {
  if (typeof name !== 'string' || name === '')
    throw new ToolcribError('invalid_tool', 'A tool needs a name.');
  if (name.length > maxLength) {
    throw new ToolcribError(
      'invalid_tool',
      `The tool name "${name.slice(0, 80)}" has ${name.length} characters; the limit is ${maxLength}.`,
    );
  }
  if (!/^[A-Za-z0-9_.-]+$/.test(name)) {
    throw new ToolcribError(
      'invalid_tool',
      `The tool name ${JSON.stringify(name)} may only hold letters, digits, "_", "-" and ".".`,
    );
  }
}

/** Runs `make` and puts the tool's name in front of any complaint about its definition. */
export function labelled<T>(name: unknown, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    throw new ToolcribError(error.code, `Tool "${String(name)}": ${error.message}`, { cause: error });
  }
}
