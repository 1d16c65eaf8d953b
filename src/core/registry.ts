import type { ClientFacts, ToolCall } from './call.ts';
import { localCaller } from './caller.ts';
import { Cancellation } from './cancellation.ts';
import { checkSchema } from './check-schema.ts';
import { contextOf, type ToolContext } from './context.ts';
import { accident, ToolcribError } from './errors.ts';
import { mirrorsOf } from './mirrors.ts';
import { toResult, type Result } from './result.ts';
import { readInputSchema, readOutputSchema, requireObjectRoot, type SchemaLike } from './schema.ts';
import { attempt, type Awaitable, type Change, type ToolSource } from './source.ts';
import {
  checkToolName,
  describeTool,
  labelled,
  type ListedTool,
  type Tool,
  type ToolAnnotations,
} from './tool.ts';
import { checkArguments } from './validate.ts';

/** The third argument of `register`: the tool's description in wire terms. */
export interface CallableSchema {
  readonly description: string;
  readonly title?: string;
  readonly inputSchema?: SchemaLike;
  readonly outputSchema?: SchemaLike;
  readonly annotations?: ToolAnnotations;
}

/** How a registry treats what is put into it. */
export interface RegistryOptions {
  /** Longest tool name, 64 unless set; the protocol allows up to 128. */
  readonly maxNameLength?: number;
  /** `spec` leaves missing hints to the protocol's cautious defaults; `saas` writes out read-only, idempotent, closed-world ones. */
  readonly annotationDefaults?: 'spec' | 'saas';
}

const SAAS_HINTS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** Holds local tools; a source by itself, usable with or without a server. */
export class ToolRegistry implements ToolSource {
  readonly #options: RegistryOptions;
  readonly #tools = new Map<string, Tool>();
  readonly #disabled = new Set<string>();
  readonly #listeners = new Set<(change: Change) => void>();
  #listed: readonly Tool[] | undefined;
  #pending: Map<string, { readonly before: Tool | undefined }> | undefined;

  constructor(options: RegistryOptions = {}) {
    this.#options = options;
  }

  /** Registers a function as a tool. Without a schema it takes any object and has no description. */
  register(name: string, handler: Tool['handler'], schema?: CallableSchema): this {
    const {
      description = '',
      inputSchema,
      outputSchema,
      ...rest
    } = schema ?? { inputSchema: { additionalProperties: true } };
    if (schema) requireDescription(name, description);
    const tool = labelled(name, (): Tool => {
      const input = readInputSchema(inputSchema);
      const output = outputSchema && readOutputSchema(outputSchema);
      return {
        name,
        description,
        ...rest,
        inputSchema: input.json,
        ...(input.parse && { parseInput: input.parse }),
        ...(output && { outputSchema: output.json }),
        ...(output?.parse && { parseOutput: output.parse }),
        handler,
      };
    });
    return this.#add(tool);
  }

  /** Registers tools made with `defineTool`, taken with `toolsFrom`, or instances of `AbstractTool`. */
  registerTool(...tools: readonly Tool<never>[]): this {
    for (const tool of tools as readonly Tool[]) {
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
    // Defaults are filled into the arguments, which belong to whoever called.
    const args = await checkArguments(tool, structuredClone(parameters));
    const call = localCall(tool, args, context);
    const { signal } = context;
    const stop = (): void => call.cancellation.abort(signal?.reason as Error);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop);
    try {
      return await tool.handler(args, contextOf(call));
    } finally {
      signal?.removeEventListener('abort', stop);
    }
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

  call(call: ToolCall): Awaitable<Result> {
    const { tool } = call;
    const hasOutputSchema = tool.outputSchema !== undefined;
    return attempt(
      () => {
        const value = tool.handler(call.arguments, contextOf(call));
        if (!isThenable(value)) return toResult(value, hasOutputSchema);
        return Promise.resolve(value).then((later) => toResult(later, hasOutputSchema));
      },
      (error) => {
        if (error instanceof ToolcribError) throw error;
        throw accident('tool_failed', `${tool.name} failed unexpectedly`, error);
      },
    );
  }

  watch(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
    return {
      ...describeTool(tool),
      annotations: { ...SAAS_HINTS, ...tool.annotations },
      ...(tool.parseInput && { parseInput: tool.parseInput }),
      ...(tool.parseOutput && { parseOutput: tool.parseOutput }),
      handler: (args, context) => tool.handler(args, context),
    };
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

  // Changes of one turn are told together, so that loading a hundred tools is one notification.
  #note(name: string, before: Tool | undefined): void {
    this.#listed = undefined;
    if (!this.#pending) {
      this.#pending = new Map();
      queueMicrotask(() => this.#tell());
    }
    if (!this.#pending.has(name)) this.#pending.set(name, { before });
  }

  #tell(): void {
    const change = { added: [] as string[], removed: [] as string[], modified: [] as string[] };
    for (const [name, { before }] of this.#pending ?? []) {
      const after = this.#visible(name);
      if (before === after) continue;
      (before ? (after ? change.modified : change.removed) : change.added).push(name);
    }
    this.#pending = undefined;
    if (change.added.length + change.removed.length + change.modified.length === 0) return;
    for (const listener of this.#listeners) listener(change);
  }
}

/** The answer for a tool that does not exist, and equally for one the caller may not see. */
export function unknownTool(name: string): ToolcribError {
  return new ToolcribError('unknown_tool', `Unknown tool: ${name}`, { data: { reason: 'tool_not_found' } });
}

const NO_CLIENT: ClientFacts = {
  name: undefined,
  version: undefined,
  protocolVersion: undefined,
  capabilities: {},
};

function localCall(tool: Tool, args: ToolCall['arguments'], context: Partial<ToolContext>): ToolCall {
  const { caller = localCaller, tenant = caller.tenant, client = NO_CLIENT, meta = {}, progress } = context;
  return {
    kind: 'tool',
    tool,
    arguments: args,
    caller: tenant === caller.tenant ? caller : { ...caller, tenant },
    client,
    meta,
    cancellation: new Cancellation(),
    report: progress && ((done) => progress(done.progress, done.total, done.message)),
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function requireDescription(name: string, description: unknown): void {
  if (typeof description === 'string' && description.trim() !== '') return;
  throw new ToolcribError(
    'invalid_tool',
    `Tool "${name}": needs a description that tells the model what it does, returns and is for.`,
  );
}
