import { onTestFinished } from 'vitest';
import type { Caller } from '../../src/core/caller.ts';
import { definePrompt, type Prompt } from '../../src/core/prompts/prompt.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import {
  defineResource,
  defineResourceTemplate,
  type Resource,
  type ResourceTemplate,
} from '../../src/core/resources/resource.ts';
import type { ToolSource } from '../../src/core/source.ts';
import { defineTool, type Tool } from '../../src/core/tool.ts';
import { createServer, type Server } from '../../src/server/create-server.ts';
import { listen } from '../../src/server/http/node-http.ts';
import type { ServerOptions } from '../../src/server/options.ts';
import { ada, signsIn } from './people.ts';

/** A server with everything a caller can own, and hands on what its tools wait for. */
export interface RichTarget {
  readonly port: number;
  readonly server: Server;
  readonly registry: ToolRegistry;
  /** Releases everything that waits. */
  release(): void;
  /** What ran, by tool and caller. */
  readonly ran: readonly string[];
  runs(): number;
}

/** What a rich target offers, and hands on what it waits for. */
export interface RichOffers {
  readonly tools: readonly Tool<never>[];
  readonly resources: readonly (Resource | ResourceTemplate)[];
  readonly prompts: readonly Prompt[];
  readonly ran: string[];
  release(): void;
}

/** Tools that make tasks, ask, publish, report and wait, with resources and a prompt. */
export function richOffers(): RichOffers {
  const ran: string[] = [];
  const waiting = new Set<() => void>();
  const released = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.add(resolve);
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  const tools: readonly Tool<never>[] = [
    defineTool(
      { name: 'danger', description: 'Runs.', input: { additionalProperties: true } },
      (args, { caller }) => {
        ran.push(`danger by ${caller.id}`);
        return { ran: true, args };
      },
    ),
    defineTool(
      { name: 'detach', description: 'Becomes a task that waits.' },
      async (_args, { detach, signal, caller }) => {
        detach();
        await released(signal);
        return `done for ${caller.id}`;
      },
    ),
    defineTool(
      { name: 'detach-and-ask', description: 'Becomes a task that asks.' },
      async (_args, { detach, elicit }) => {
        detach();
        return elicit({ message: 'Really?', schema: YES, key: 'sure' });
      },
    ),
    defineTool(
      { name: 'ask', description: 'Asks.', input: { properties: { n: { type: 'number' } } } },
      async (args, context) => {
        const answer = await context.elicit({ message: 'Really?', schema: YES, key: 'sure' });
        ran.push(`ask by ${context.caller.id} with ${JSON.stringify([args, answer])}`);
        return answer;
      },
    ),
    defineTool(
      { name: 'ask-too', description: 'Asks as well.', input: { properties: { n: { type: 'number' } } } },
      async (_args, context) => {
        const answer = await context.elicit({ message: 'Really?', schema: YES, key: 'sure' });
        ran.push('ask-too');
        return answer;
      },
    ),
    defineTool({ name: 'publish', description: 'Publishes.' }, (_args, { publish, caller }) =>
      publish({ name: 'secret', data: `the secret of ${caller.id}` }),
    ),
    defineTool(
      { name: 'work', description: 'Reports and waits.' },
      async (_args, { progress, signal, caller }) => {
        progress(1, 2, `for ${caller.id}`);
        await released(signal);
        progress(2, 2, `for ${caller.id}`);
        return `worked for ${caller.id}`;
      },
    ),
    ...['ada-1', 'ada-2', 'ada-3'].map((name) =>
      defineTool({ name, description: 'For her alone.' }, () => name),
    ),
  ];
  const resources = [
    defineResource({ uri: 'note://shared', name: 'shared' }, () => 'for all'),
    defineResource({ uri: 'note://ada', name: 'hers' }, () => 'for her'),
    defineResourceTemplate(
      { uriTemplate: 'page://{id}', name: 'page', complete: { id: () => ['one'] } },
      ({ id }) => `page ${id}`,
    ),
  ];
  const prompts = [
    definePrompt(
      { name: 'greet', arguments: { who: { required: true, complete: () => ['you'] } } },
      ({ who }) => `Hello ${who}`,
    ),
  ];
  const release = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  return { tools, resources, prompts, ran, release };
}

/** Starts a server whose tools make tasks, ask, publish, report and wait. */
export async function richTarget(options: Partial<ServerOptions> = {}): Promise<RichTarget> {
  const { tools, resources, prompts, ran, release } = richOffers();
  const registry = new ToolRegistry().registerTool(...tools);
  registry.registerResource(...resources);
  registry.registerPrompt(...prompts);
  const server = createServer({
    source: forCallers(registry),
    log: () => {},
    publish: true,
    pageSize: 2,
    requestsPerMinute: 1_000_000_000,
    ...signsIn,
    ...options,
  });
  const listening = await listen(server, { port: 0, sse: true });
  onTestFinished(() => listening.close(0));
  const port = Number(new URL(listening.url).port);
  return { port, server, registry, release, ran, runs: () => ran.length };
}

const YES = { type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'] } as const;

// What bears her name is hers alone.
function forCallers(registry: ToolRegistry): ToolSource {
  const sees = (caller: Caller, name: string): boolean => caller === ada || !name.includes('ada');
  const lists = new Map<Caller, ReturnType<ToolSource['list']>>();
  return {
    list(caller) {
      const known = lists.get(caller) ?? registry.list().filter(({ name }) => sees(caller, name));
      lists.set(caller, known);
      return known;
    },
    find: (name, caller) => (sees(caller, name) ? registry.find(name) : undefined),
    call: (call) => registry.call(call),
    watch: (listener) => registry.watch(listener),
    resources: {
      list: (caller) => registry.resources!.list().filter(({ uri }) => sees(caller, uri)),
      templates: () => registry.resources!.templates(),
      find: (uri, caller) => (sees(caller, uri) ? registry.resources!.find(uri) : undefined),
    },
    prompts: {
      list: () => registry.prompts!.list(),
      find: (name) => registry.prompts!.find(name),
    },
  };
}
