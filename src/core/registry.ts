import { unknownTool } from './absent-tool.ts';
import type { Call } from './call.ts';
import { checkSchema } from '../schema/check.ts';
import type { Services, ToolContext } from './context.ts';
import { ChangeNotes } from './change-notes.ts';
import { ToolcribError } from '../base/errors.ts';
import { executeTool } from './execute-tool.ts';
import { mirrorsOf } from '../schema/mirrors.ts';
import type { Prompt } from './prompts/prompt.ts';
import { PromptRegistry } from './prompts/registry.ts';
import type { Resource, ResourceTemplate } from './resources/resource.ts';
import type { ServedSkill } from './resources/skill.ts';
import { ResourceRegistry } from './resources/registry.ts';
import type { Result } from './result.ts';
import { runLocally } from './run-locally.ts';
import type { HandlerInput } from '../schema/infer.ts';
import { requireObjectRoot, type JsonSchema, type SchemaLike } from '../schema/schema.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { Change, ToolSource } from './source.ts';
import {
  changeTool,
  checkToolName,
  defineTool,
  describeTool,
  labelled,
  type Hint,
  type ListedTool,
  type Tool,
  type ToolDefinition,
} from './tool.ts';

/** The third argument of `register`: the tool's description in wire terms. */
export interface CallableSchema<I extends SchemaLike = SchemaLike> extends Omit<
  ToolDefinition,
  'name' | 'input' | 'output'
> {
  readonly inputSchema?: I;
  readonly outputSchema?: SchemaLike;
}

// Arguments without a schema are an object, too.
type Arguments<I> = unknown extends HandlerInput<I> ? Record<string, unknown> : HandlerInput<I>;

/** How a registry treats what is put into it. */
export interface RegistryOptions {
  /** Longest tool name, 64 unless set; the protocol allows up to 128. */
  readonly maxNameLength?: number;
  /**
   * `spec` leaves missing hints to the protocol's cautious defaults; `saas` writes out read-only, idempotent,
   * closed-world ones.
   */
  readonly annotationDefaults?: 'spec' | 'saas';
  /** What handlers share, such as a connection pool; they find it as `ctx.services`. */
  readonly services?: Services;
}

const SAAS_HINTS: Readonly<Record<Hint, boolean>> = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
const HINTS = Object.keys(SAAS_HINTS) as Hint[];

/** Holds local tools, and resources and prompts beside them; a source by itself, usable with or without a server. */
export class ToolRegistry implements ToolSource {
  readonly #options: RegistryOptions;
  readonly #tools = new Map<string, Tool>();
  readonly #disabled = new Set<string>();
  readonly #changes = new ChangeNotes((name) => this.find(name));
  #listed: readonly Tool[] | undefined;
  #resources: ResourceRegistry | undefined;
  #prompts: PromptRegistry | undefined;

  constructor(options: RegistryOptions = {}) {
    this.#options = options;
  }

  /** The resources, once there is or was one. */
  get resources(): ResourceRegistry | undefined {
    return this.#resources;
  }

  /** The prompts, once there is or was one. */
  get prompts(): PromptRegistry | undefined {
    return this.#prompts;
  }

  /** Registers resources and resource templates. */
  registerResource(...resources: readonly (Resource | ResourceTemplate)[]): this {
    this.#resourceRegistry().register(...resources);
    return this;
  }

  /** Takes a resource or a template away; says whether it was there. */
  removeResource(uri: string): boolean {
    return this.#resources?.remove(uri) ?? false;
  }

  /** Registers skills made with `defineSkill`. */
  registerSkill(...skills: readonly ServedSkill[]): this {
    this.#resourceRegistry().registerSkill(...skills);
    return this;
  }

  /** Takes a skill away by the address of its SKILL.md; says whether it was there. */
  removeSkill(uri: string): boolean {
    return this.#resources?.removeSkill(uri) ?? false;
  }

  /** Tells subscribers that a resource's content is new. */
  resourceUpdated(uri: string): void {
    this.#changes.tell({ kind: 'resource', uri });
  }

  /** Registers prompts. */
  registerPrompt(...prompts: readonly Prompt[]): this {
    this.#prompts ??= new PromptRegistry(() => this.#changes.note('prompts'));
    for (const prompt of prompts) this.#prompts.register(prompt);
    return this;
  }

  /** Takes a prompt away; says whether it was there. */
  removePrompt(name: string): boolean {
    return this.#prompts?.remove(name) ?? false;
  }

  /** Registers a function as a tool. Without a schema it takes any object and has no description. */
  register<const I extends SchemaLike = JsonSchema>(
    name: string,
    handler: (args: Arguments<I>, context: ToolContext) => unknown,
    schema?: CallableSchema<I>,
  ): this {
    if (schema) requireDescription(name, schema.description);
    const {
      description = '',
      inputSchema = {},
      outputSchema,
      ...described
    } = schema ?? { inputSchema: { additionalProperties: true } };
    const definition = { ...described, name, description, input: inputSchema };
    const run = handler as (args: unknown, context: ToolContext) => unknown;
    return this.#add(
      defineTool<SchemaLike>(outputSchema ? { ...definition, output: outputSchema } : definition, run),
    );
  }

  /** Registers tools made with `defineTool`, taken with `toolsFrom`, or instances of `AbstractTool`. */
  registerTool(...tools: readonly Tool<never>[]): this {
    for (const tool of tools as readonly Tool[]) {
      if (typeof tool !== 'object' || tool === null || Array.isArray(tool)) {
        throw new ToolcribError(
          'invalid_tool',
          'registerTool takes tools one by one: registerTool(...tools).',
        );
      }
      requireDescription(tool.name, tool.description);
      this.#add(tool);
    }
    return this;
  }

  /** Puts a tool in the place of the one with the same name, or adds it. */
  replace(tool: Tool<never>): this {
    requireDescription(tool.name, tool.description);
    this.#set(tool.name, this.#finish(tool));
    return this;
  }

  /** Takes a tool away; says whether it was there. */
  remove(name: string): boolean {
    if (!this.#tools.has(name)) return false;
    this.#disabled.delete(name);
    this.#set(name, undefined);
    return true;
  }

  /** Hides a tool from listing and calling until it is enabled again. */
  disable(name: string): void {
    const tool = this.#require(name);
    if (this.#disabled.has(name)) return;
    this.#note(name, tool);
    this.#disabled.add(name);
  }

  /** Brings a disabled tool back. */
  enable(name: string): void {
    this.#require(name);
    if (!this.#disabled.has(name)) return;
    this.#note(name, undefined);
    this.#disabled.delete(name);
  }

  /** Whether a tool of this name can be called. */
  hasTool(name: string): boolean {
    return this.#visible(name) !== undefined;
  }

  /** The names of all callable tools, in the order they were registered. */
  getToolNames(): string[] {
    return [...this.#tools.keys()].filter((name) => !this.#disabled.has(name));
  }

  /** What `tools/list` shows, in the order of names. */
  getToolsList(): { tools: ListedTool[] } {
    return { tools: this.list().map(describeTool) };
  }

  /** Runs a tool in this process, arguments checked, and returns what its handler returned. */
  async execute(
    name: string,
    parameters: Record<string, unknown> = {},
    context: Partial<ToolContext> = {},
  ): Promise<unknown> {
    const tool = this.#visible(name);
    if (!tool) throw unknownTool(name);
    return executeTool(tool, parameters, { context, services: this.#options.services });
  }

  list(): readonly Tool[] {
    this.#listed ??= Object.freeze(
      [...this.#tools.values()]
        .filter((tool) => !this.#disabled.has(tool.name))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
    return this.#listed;
  }

  find(name: string): Tool | undefined {
    return this.#visible(name);
  }

  call(call: Call): Awaitable<Result> {
    return runLocally(call, this.#options.services);
  }

  watch(listener: (change: Change) => void): () => void {
    return this.#changes.watch(listener);
  }

  #resourceRegistry(): ResourceRegistry {
    return (this.#resources ??= new ResourceRegistry(() => this.#changes.note('resources')));
  }

  #add(tool: Tool): this {
    if (this.#tools.has(tool.name)) {
      throw new ToolcribError(
        'invalid_tool',
        `A tool named "${tool.name}" is registered already; rename it or use replace().`,
      );
    }
    this.#set(tool.name, this.#finish(tool));
    return this;
  }

  #finish(tool: Tool): Tool {
    checkToolName(tool.name, this.#options.maxNameLength ?? 64);
    labelled(tool.name, () => {
      requireObjectRoot(tool.inputSchema);
      checkSchema(tool.inputSchema, 'input');
      mirrorsOf(tool.inputSchema);
      if (tool.outputSchema) checkSchema(tool.outputSchema, 'output');
    });
    if (this.#options.annotationDefaults !== 'saas') return tool;
    const { annotations } = tool;
    return changeTool(tool, {
      annotations: { ...SAAS_HINTS, ...annotations },
      assumedHints: HINTS.filter((hint) => annotations?.[hint] === undefined),
    });
  }

  #set(name: string, tool: Tool | undefined): void {
    this.#note(name, this.#visible(name));
    if (tool) this.#tools.set(name, tool);
    else this.#tools.delete(name);
  }

  #visible(name: string): Tool | undefined {
    return this.#disabled.has(name) ? undefined : this.#tools.get(name);
  }

  #require(name: string): Tool {
    const tool = this.#tools.get(name);
    if (!tool) throw unknownTool(name);
    return tool;
  }

  #note(name: string, before: Tool | undefined): void {
    this.#listed = undefined;
    this.#changes.noteTool(name, before);
  }
}

function requireDescription(name: string, description: unknown): void {
  if (typeof description === 'string' && description.trim() !== '') return;
  throw new ToolcribError(
    'invalid_tool',
    `Tool "${name}": needs a description that tells the model what it does, returns and is for.`,
  );
}
