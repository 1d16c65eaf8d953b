import { ToolcribError } from '../base/errors.ts';
import { exactText, notedLongIntegers, type LongIntegers } from '../base/exact-json.ts';
import { isObject } from '../base/json.ts';
import type { Call } from '../core/call.ts';
import { changeBetween } from '../core/change-between.ts';
import type { Complete, Prompt, PromptArgument } from '../core/prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../core/resources/resource.ts';
import { parseUriTemplate } from '../core/resources/uri-template.ts';
import type { Result } from '../core/result.ts';
import type { Change, FoundResource, PromptFace, ResourceFace } from '../core/source.ts';
import { fromListed, type ListedTool, type Tool } from '../core/tool.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import { checkValue } from './calls/known-tools.ts';
import type { Client } from './client.ts';
import type { Relay } from './relay/relay.ts';
import type { RelayOptions } from './relay/call.ts';

const SHOWN = ['name', 'title', 'description', 'icons', '_meta'];
const RESOURCE = [...SHOWN, 'mimeType', 'annotations', 'uri', 'size'];
const TEMPLATE = [...SHOWN, 'mimeType', 'annotations', 'uriTemplate'];
const PROMPT = [...SHOWN, 'arguments'];
const ARGUMENT = ['name', 'title', 'description', 'required'];

/** A client as a source: definitions as the server sent them, calls that go to the server. */
export class SourceFace {
  readonly resources: ResourceFace;
  readonly prompts: PromptFace;
  readonly #client: Client;
  readonly #relay: Relay;
  #listed: readonly ListedTool[] | undefined;
  #tools: readonly Tool[] = [];

  constructor(client: Client, relay: Relay) {
    this.#client = client;
    this.#relay = relay;
    this.resources = {
      list: async () => (await client.listResources()).flatMap((item) => this.#resource(item)),
      templates: async () => (await client.listResourceTemplates()).flatMap((item) => this.#template(item)),
      find: (uri) => this.#findResource(uri),
    };
    this.prompts = {
      list: async () => (await client.listPrompts()).flatMap((item) => this.#prompt(item)),
      find: async (name) => {
        const item = (await client.listPrompts()).find((prompt) => prompt['name'] === name);
        return item && this.#prompt(item)[0];
      },
    };
  }

  /** The tools, as the same array until the server has others. */
  async list(): Promise<readonly Tool[]> {
    const listed = await this.#client.listTools();
    if (listed !== this.#listed) {
      this.#listed = listed;
      this.#tools = Object.freeze(listed.map((tool) => this.#tool(tool)));
    }
    return this.#tools;
  }

  /** One tool by its name. */
  async find(name: string): Promise<Tool | undefined> {
    return (await this.list()).find((tool) => tool.name === name);
  }

  /** Passes a call on to the server. */
  call(call: Call, how?: RelayOptions): Promise<Result> {
    return this.#relay.call(call, how);
  }

  /** Tells of changes until the returned function is called. */
  watch(listener: (change: Change) => void): () => void {
    const stops = [
      this.#client.on('toolsChanged', (tools) =>
        listener(changeBetween(this.#listed ?? [], tools ?? [], exactText)),
      ),
      this.#client.on('promptsChanged', () => listener({ kind: 'prompts' })),
      this.#client.on('resourcesChanged', () => listener({ kind: 'resources' })),
      this.#client.on('resourceUpdated', ({ uri }) => listener({ kind: 'resource', uri })),
    ];
    return () => stops.forEach((stop) => stop());
  }

  #tool(listed: ListedTool): Tool {
    const tool = fromListed(
      { ...listed, description: listed.description ?? '' },
      async (args, { signal, progress }) => {
        const onProgress = (done: { progress: number; total?: number; message?: string }): void =>
          progress(done.progress, done.total, done.message);
        return (await this.#client.callTool(listed.name, args, { signal, onProgress })).raw;
      },
    );
    const { inputSchema, outputSchema } = tool;
    return Object.freeze({
      ...tool,
      ...longsOf(listed),
      asksLive: true,
      parseInput: (value: unknown) => checkValue(inputSchema, value),
      ...(outputSchema && { parseOutput: (value: unknown) => checkValue(outputSchema, value) }),
    });
  }

  #resource(item: JsonObject): Resource[] {
    const { uri, name } = item;
    if (typeof uri !== 'string' || typeof name !== 'string') return [];
    const described = { ...knownOf(item, RESOURCE), ...othersOf(item, RESOURCE) };
    return [{ ...described, ...longsOf(item), uri, name, read: (asked) => this.#read(asked) }];
  }

  #template(item: JsonObject): ResourceTemplate[] {
    const { uriTemplate, name } = item;
    if (typeof uriTemplate !== 'string' || typeof name !== 'string') return [];
    try {
      const template = parseUriTemplate(uriTemplate);
      const complete = Object.fromEntries(
        template.variables.map((argument) => [
          argument,
          this.#completer({ template: uriTemplate, argument }),
        ]),
      );
      return [
        {
          ...knownOf(item, TEMPLATE),
          ...othersOf(item, TEMPLATE),
          ...longsOf(item),
          uriTemplate,
          name,
          template,
          complete,
          read: (_variables, _context, uri) => this.#read(uri),
        },
      ];
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error;
      return [];
    }
  }

  #prompt(item: JsonObject): Prompt[] {
    const { name, arguments: args } = item;
    if (typeof name !== 'string') return [];
    const described = (Array.isArray(args) ? args : [])
      .filter(isObject)
      .map((argument): [string, PromptArgument] => {
        const { name: key, ...rest } = knownOf(argument, ARGUMENT);
        const complete = this.#completer({ prompt: name, argument: String(key) });
        return [String(key), { ...rest, ...othersOf(argument, ARGUMENT), complete }];
      });
    const get: Prompt['get'] = async (given) => (await this.#client.getPrompt(name, given)) as never;
    const shown = { ...knownOf(item, PROMPT), ...othersOf(item, PROMPT), ...longsOf(item) };
    return [{ ...shown, name, arguments: Object.fromEntries(described), get }];
  }

  async #findResource(uri: string): Promise<FoundResource | undefined> {
    const listed = (await this.#client.listResources()).find((resource) => resource['uri'] === uri);
    const [resource] = listed ? this.#resource(listed) : [];
    if (resource) return { resource, variables: {} };
    for (const item of await this.#client.listResourceTemplates())
      for (const template of this.#template(item)) {
        const variables = template.template.match(uri);
        if (variables) return { resource: template, variables };
      }
    return undefined;
  }

  async #read(uri: string): Promise<never> {
    return (await this.#client.readResource(uri))['contents'] as never;
  }

  #completer(
    target: { readonly argument: string } & ({ readonly prompt: string } | { readonly template: string }),
  ): Complete {
    return async (value, { arguments: chosen }) =>
      (await this.#client.complete({ ...target, value }, chosen)).values;
  }
}

// What a definition holds besides its own members.
function othersOf(item: JsonObject, known: readonly string[]): { extraFields?: JsonObject } {
  const others = Object.entries(item).filter(([field]) => !known.includes(field));
  return others.length > 0 ? { extraFields: Object.fromEntries(others) } : {};
}

function longsOf(item: object): { longIntegers?: LongIntegers } {
  const longIntegers = notedLongIntegers(item);
  return longIntegers ? { longIntegers } : {};
}

function knownOf(item: JsonObject, known: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([field]) => known.includes(field)));
}
