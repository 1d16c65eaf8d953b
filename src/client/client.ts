import type { Awaitable } from '../base/awaitable.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Call, ClientLogLevel } from '../core/call.ts';
import type { Result } from '../core/result.ts';
import type { Change, PromptFace, ResourceFace, ToolSource } from '../core/source.ts';
import type { ListedTool, Tool } from '../core/tool.ts';
import { notedResult } from '../protocol/decode/message.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import { PendingCall } from './calls/call-result.ts';
import { Catalog } from './catalog.ts';
import { Cancelled } from './errors.ts';
import type { Received } from '../protocol/decode/received.ts';
import { mayHave, type ServerFacts } from './opening/handshake.ts';
import type { RequestOptions } from './options.ts';
import { Peer, type ClientEvents, type ClientSetup } from './peer.ts';
import { Relay } from './relay/relay.ts';
import type { RelayOptions } from './relay/call.ts';
import { afterPages } from './calls/required-pages.ts';
import { throughRounds } from './calls/rounds.ts';
import { SourceFace } from './source-face.ts';
import type { ConnectionState } from './state.ts';
import type { TaskHandle } from './calls/task-handle.ts';
import { ToolCalls } from './calls/tool-calls.ts';

/** What is completed: an argument of a prompt, or a variable of a resource template. */
export type CompletionTarget =
  | { readonly prompt: string; readonly argument: string; readonly value: string }
  | { readonly template: string; readonly argument: string; readonly value: string };

/** Suggestions of a server. */
export interface Suggestions {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}

const NEVER = new AbortController().signal;
const FOLLOWED: Partial<Record<keyof ClientEvents, 'tools' | 'prompts' | 'resources'>> = {
  toolsChanged: 'tools',
  promptsChanged: 'prompts',
  resourcesChanged: 'resources',
};

/** One connection to one server; a source like any other, too. */
export class Client implements ToolSource {
  readonly #peer: Peer;
  readonly #catalog: Catalog;
  readonly #calls: ToolCalls;
  readonly #face: SourceFace;
  #closing: Promise<void> | undefined;

  constructor(setup: ClientSetup) {
    const { options } = setup;
    const peer = (this.#peer = new Peer(setup));
    this.#catalog = new Catalog(peer);
    this.#calls = new ToolCalls({
      connection: peer.connection,
      tools: this.#catalog.tools,
      capabilities: () => peer.server.capabilities,
      questions: peer.questions,
      clock: peer.clock,
      timeouts: peer.timeouts,
      maxRounds: peer.limits.rounds,
      checksArguments: options.checkArguments ?? true,
      checksResults: options.checkResults ?? 'warn',
      onWarning: (text) => peer.warn(text),
    });
    this.#face = new SourceFace(this, new Relay(peer, this.#calls));
  }

  /** The state of the connection, with reason and remedy if it does not work. */
  get state(): ConnectionState {
    return this.#peer.state;
  }

  /** What the server says of itself; untrusted. */
  get server(): ServerFacts {
    return this.#peer.server;
  }

  /** What is at the other end, for messages to people. */
  get label(): string {
    return this.#peer.label;
  }

  /** How many requests are under way. */
  get underWay(): number {
    return this.#peer.connection.underWay;
  }

  /** Agrees on a revision with the server; called once, by `connect`. */
  async open(): Promise<void> {
    const { signal } = this.#peer.options;
    const stop = (): void => void this.close();
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      await this.#peer.open();
    } catch (error) {
      throw signal?.aborted ? new Cancelled({ cause: signal.reason }) : error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  /** Calls a listener with each event, until the returned function is called. */
  on<Name extends keyof ClientEvents>(name: Name, listener: (event: ClientEvents[Name]) => void): () => void {
    const list = FOLLOWED[name];
    if (list) this.#catalog.follow(list);
    return this.#peer.listeners.on(name, listener);
  }

  /** Every tool, over all pages; kept as long as the server says. */
  listTools(): Promise<readonly ListedTool[]> {
    return this.#catalog.tools.get();
  }

  /** Every resource, over all pages. */
  listResources(): Promise<readonly JsonObject[]> {
    return this.#catalog.resources.get();
  }

  /** Every resource template, over all pages. */
  listResourceTemplates(): Promise<readonly JsonObject[]> {
    return this.#catalog.templates.get();
  }

  /** Every prompt, over all pages. */
  listPrompts(): Promise<readonly JsonObject[]> {
    return this.#catalog.prompts.get();
  }

  /** Forgets every list; the next one asked for is fetched again. */
  refresh(): void {
    this.#catalog.invalidate();
  }

  /** Calls a tool: arguments are checked first, questions answered by the handlers, tasks followed to their end. */
  callTool(name: string, args: JsonObject = {}, options: RequestOptions = {}): PendingCall {
    return new PendingCall((resolve) => resolve(this.#calls.call(name, args, options)));
  }

  /** Calls a tool as a task, and returns its handle at once. */
  startTask(name: string, args: JsonObject = {}, options: RequestOptions = {}): Promise<TaskHandle> {
    return this.#calls.start(name, args, options);
  }

  /** The contents of a resource, with every other member of the result. */
  readResource(uri: string, options: RequestOptions = {}): Promise<JsonObject> {
    return this.#ask('resources/read', { uri }, options);
  }

  /** The messages of a prompt, with every other member of the result. */
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: RequestOptions = {},
  ): Promise<JsonObject> {
    return this.#ask('prompts/get', { name, arguments: args }, options);
  }

  /** Suggestions for an argument of a prompt or a variable of a template. */
  async complete(
    target: CompletionTarget,
    chosen: Readonly<Record<string, string>> = {},
    options: RequestOptions = {},
  ): Promise<Suggestions> {
    const ref =
      'prompt' in target
        ? { type: 'ref/prompt', name: target.prompt }
        : { type: 'ref/resource', uri: target.template };
    const argument = { name: target.argument, value: target.value };
    const context = Object.keys(chosen).length > 0 ? { context: { arguments: chosen } } : {};
    return readSuggestions(await this.#ask('completion/complete', { ref, argument, ...context }, options));
  }

  /** Asks the server to announce changes of a resource (`resourceUpdated`). */
  subscribe(uri: string): Promise<void> {
    return this.#catalog.followResource(uri, 'follow');
  }

  /** Asks the server to announce changes of a resource no longer. */
  unsubscribe(uri: string): Promise<void> {
    return this.#catalog.followResource(uri, 'leave');
  }

  /** Asks for log entries from this level on (`log`). */
  setLogLevel(level: ClientLogLevel): Promise<void> {
    return this.#peer.setLogLevel(level);
  }

  /** Sends any request and returns its result as it came. */
  async request(method: string, params: JsonObject = {}, options: RequestOptions = {}): Promise<JsonObject> {
    return (await this.#peer.connection.request(method, params, options)).result;
  }

  /** Sends any notification. */
  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#peer.connection.notify(method, params);
  }

  /** The tools, as a source has them. */
  list(): Promise<readonly Tool[]> {
    return this.#face.list();
  }

  /** One tool, as a source has it. */
  find(name: string): Promise<Tool | undefined> {
    return this.#face.find(name);
  }

  /** Passes a call of a source on to the server. */
  call(call: Call, how?: RelayOptions): Awaitable<Result> {
    return this.#face.call(call, how);
  }

  /** The resources, as a source has them; `undefined` where the server has none. */
  get resources(): ResourceFace | undefined {
    return mayHave(this.server, 'resources') ? this.#face.resources : undefined;
  }

  /** The prompts, as a source has them; `undefined` where the server has none. */
  get prompts(): PromptFace | undefined {
    return mayHave(this.server, 'prompts') ? this.#face.prompts : undefined;
  }

  /** Tells of changes, as a source does. */
  watch(listener: (change: Change) => void): () => void {
    return this.#face.watch(listener);
  }

  /** Ends the connection: requests fail, and no timer, socket, process or listener is left. */
  close(): Promise<void> {
    this.#catalog.close();
    return (this.#closing ??= this.#peer.close());
  }

  async #ask(method: string, params: JsonObject, options: RequestOptions): Promise<JsonObject> {
    const { connection, questions, clock, limits } = this.#peer;
    const send = (extra: JsonObject): Promise<Received> =>
      connection.request(method, { ...params, ...extra }, options);
    const signal = options.signal ?? NEVER;
    const parts = { questions, maxRounds: limits.rounds, signal, clock };
    const first = await send({}).catch((error: unknown) => afterPages(error, () => send({}), parts));
    return notedResult(await throughRounds(first, send, parts));
  }
}

function readSuggestions({ completion }: JsonObject): Suggestions {
  if (isObject(completion) && isListOfTexts(completion['values']))
    return completion as Suggestions & JsonObject;
  throw new ToolcribError('invalid_answer', 'The server sent suggestions that are no list of texts.');
}

function isListOfTexts(values: unknown): boolean {
  return Array.isArray(values) && values.every((value) => typeof value === 'string');
}
