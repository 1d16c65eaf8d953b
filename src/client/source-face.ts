import type { Awaitable } from '../base/awaitable.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Call } from '../core/call.ts';
import type { Complete, Prompt, PromptArgument } from '../core/prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../core/resources/resource.ts';
import { parseUriTemplate } from '../core/resources/uri-template.ts';
import { toResult, type Result } from '../core/result.ts';
import type { Change, FoundResource, PromptFace, ResourceFace } from '../core/source.ts';
import { fromListed, type ListedTool, type Tool } from '../core/tool.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import type { Client } from './client.ts';

// What the protocol of this connection put around a result is not part of it.
const FRAME: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope', '_meta']);

/** What a connection offers, in the terms of a source: definitions as they came, calls that go to the server. */
export class SourceFace {
  readonly resources: ResourceFace;
  readonly prompts: PromptFace;
  readonly #client: Client;
  #listed: readonly ListedTool[] | undefined;
  #tools: readonly Tool[] = [];

  constructor(client: Client) {
    this.#client = client;
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
  call(call: Call): Awaitable<Result> {
    switch (call.kind) {
      case 'tool':
        return this.#callTool(call.tool.name, call);
      case 'resource':
        return this.#client.readResource(call.uri, { signal: call.cancellation.signal }).then(unframed);
      case 'prompt':
        return this.#client
          .getPrompt(call.prompt.name, call.arguments, { signal: call.cancellation.signal })
          .then(unframed);
      case 'completion': {
        const { target, argument, chosen } = call;
        const asked = { argument: argument.name, value: argument.value };
        return this.#client
          .complete(
            'uriTemplate' in target
              ? { template: target.uriTemplate, ...asked }
              : { prompt: target.name, ...asked },
            chosen,
          )
          .then((completion) => ({ kind: 'done', data: { completion } }));
      }
    }
  }

  /** Tells of changes until the returned function is called. */
  watch(listener: (change: Change) => void): () => void {
    const stops = [
      this.#client.on('toolsChanged', (tools) => listener(changeOf(this.#listed ?? [], tools ?? []))),
      this.#client.on('promptsChanged', () => listener({ kind: 'prompts' })),
      this.#client.on('resourcesChanged', () => listener({ kind: 'resources' })),
      this.#client.on('resourceUpdated', ({ uri }) => listener({ kind: 'resource', uri })),
    ];
    return () => stops.forEach((stop) => stop());
  }

  async #callTool(name: string, call: Extract<Call, { kind: 'tool' }>): Promise<Result> {
    const { report } = call.voice;
    const received = await this.#client.callTool(name, call.arguments, {
      signal: call.cancellation.signal,
      ...(report && { onProgress: report }),
    });
    const { resultType: _kind, ...raw } = received.raw;
    return toResult({ ...raw, content: received.content });
  }

  #tool(listed: ListedTool): Tool {
    return fromListed(
      { ...listed, description: listed.description ?? '' },
      async (args, { signal, progress }) => {
        const onProgress = (done: { progress: number; total?: number; message?: string }): void =>
          progress(done.progress, done.total, done.message);
        return (await this.#client.callTool(listed.name, args, { signal, onProgress })).raw;
      },
    );
  }

  #resource(item: JsonObject): Resource[] {
    const { uri, name } = item;
    if (typeof uri !== 'string' || typeof name !== 'string') return [];
    return [{ ...item, uri, name, read: (asked) => this.#read(asked) }];
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
          ...item,
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
        const { name: key, ...rest } = argument;
        return [String(key), { ...rest, complete: this.#completer({ prompt: name, argument: String(key) }) }];
      });
    const get: Prompt['get'] = async (given) => (await this.#client.getPrompt(name, given)) as never;
    return [{ ...item, name, arguments: Object.fromEntries(described), get }];
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

function unframed(result: JsonObject): Result {
  const data = Object.entries(result).filter(([key]) => !FRAME.has(key));
  return { kind: 'done', data: Object.fromEntries(data) };
}

function changeOf(before: readonly ListedTool[], after: readonly ListedTool[]): Change {
  const old = new Map(before.map((tool) => [tool.name, JSON.stringify(tool)]));
  const now = new Map(after.map((tool) => [tool.name, JSON.stringify(tool)]));
  return {
    kind: 'tools',
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    modified: [...now]
      .filter(([name, text]) => old.has(name) && old.get(name) !== text)
      .map(([name]) => name),
  };
}
