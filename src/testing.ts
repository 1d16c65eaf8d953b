import type { Call, ToolCall } from './core/call.ts';
import { localCaller, type Caller } from './core/caller.ts';
import type { Clock } from './base/clock.ts';
import { makeCall } from './core/make-call.ts';
import { ToolRegistry } from './core/registry.ts';
import type { Result } from './core/result.ts';
import type { Awaitable } from './base/awaitable.ts';
import type { ToolSource } from './core/source.ts';
import type { ListedTool, Tool } from './core/tool.ts';
import type { ContentBlock } from './core/content.ts';
import { metaKeys } from './protocol/wire/meta.ts';
import { revisionOf } from './protocol/revisions/revisions.ts';
import type { JsonRpcMessage, Server } from './server/create-server.ts';

export { lintTool, lintTools } from './lint/lint-tools.ts';
export type { LintedTool, LintOptions, LintReport } from './lint/lint-tools.ts';
export type { Finding, Severity } from './lint/finding.ts';

/** How a test client presents itself. */
export interface TestClientOptions {
  /** `2026-07-28` unless set; a client of an older one has no session here, so it cannot be asked anything. */
  readonly protocolVersion?: '2026-07-28' | '2025-11-25' | '2025-06-18' | '2025-03-26' | '2024-11-05';
  /**
   * Answers what tools ask: the request as the protocol puts it, and the question's key. Without it the client can be
   * asked nothing.
   */
  readonly answer?: (
    question: { readonly method: string; readonly params?: unknown },
    key: string,
  ) => unknown;
  /** The local caller unless set. */
  readonly caller?: Caller;
}

/** A tool's answer, as a client reads it. */
export interface TestResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError: boolean;
  /** The text of all text blocks, joined. */
  readonly text: string;
}

/** How one call is made. */
export interface TestCallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

/** A client in the same process, for testing tools and servers without a network. */
export interface TestClient {
  listTools(): Promise<ListedTool[]>;
  callTool(name: string, args?: Record<string, unknown>, options?: TestCallOptions): Promise<TestResult>;
  /** Sends any request and returns its result; a protocol error is thrown with its `code`. */
  request(
    method: string,
    params?: Record<string, unknown>,
    options?: TestCallOptions,
  ): Promise<Record<string, unknown>>;
}

const MAX_ROUNDS = 8;

/** Connects a test client to a server. */
export function createTestClient(server: Server, options: TestClientOptions = {}): TestClient {
  const request = answering(createSender(server, options), options.answer);
  return {
    request,
    async listTools() {
      const tools: ListedTool[] = [];
      let cursor: string | undefined;
      do {
        const page = await request('tools/list', cursor === undefined ? {} : { cursor });
        tools.push(...(page['tools'] as ListedTool[]));
        cursor = page['nextCursor'] as string | undefined;
      } while (cursor !== undefined);
      return tools;
    },
    async callTool(name, args = {}, callOptions = {}) {
      const result = (await request(
        'tools/call',
        { name, arguments: args },
        callOptions,
      )) as unknown as TestResult;
      const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
      return { ...result, text };
    },
  };
}

function createSender(server: Server, options: TestClientOptions): TestClient['request'] {
  const { protocolVersion = '2026-07-28', caller = localCaller, answer } = options;
  const revision = revisionOf(protocolVersion);
  if (!revision) throw new TypeError(`There is no protocol version ${protocolVersion}.`);
  const capabilities = answer ? { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } : {};
  const meta =
    revision.era === 'modern'
      ? { [metaKeys.protocolVersion]: protocolVersion, [metaKeys.clientCapabilities]: capabilities }
      : {};
  let lastId = 0;
  return async (method, params = {}, { signal, onProgress } = {}) => {
    const id = ++lastId;
    const token = onProgress && { progressToken: id };
    const sent = { ...params, _meta: { ...meta, ...token, ...(params['_meta'] as object) } };
    const notify = (note: JsonRpcMessage): void => {
      if (note['method'] === 'notifications/progress') onProgress?.(note['params'] as { progress: number });
    };
    const message: JsonRpcMessage = { jsonrpc: '2.0', id, method, params: sent };
    const spoken = revision.era === 'legacy' && { protocolVersion };
    const reply = await server.handle(message, { caller, notify, ...spoken, ...(signal && { signal }) });
    if (!reply) throw new Error(`${method} was cancelled.`);
    if ('error' in reply) throw Object.assign(new Error('The server refused the request.'), reply['error']);
    return reply['result'] as Record<string, unknown>;
  };
}

function answering(send: TestClient['request'], answer: TestClientOptions['answer']): TestClient['request'] {
  if (!answer) return send;
  return async (method, params = {}, options = {}) => {
    let result = await send(method, params, options);
    for (let round = 0; result['resultType'] === 'input_required' && round < MAX_ROUNDS; round++) {
      const questions = Object.entries(result['inputRequests'] as Record<string, { method: string }>);
      const answers = await Promise.all(
        questions.map(async ([key, question]) => [key, await answer(question, key)] as const),
      );
      const retry = { inputResponses: Object.fromEntries(answers), requestState: result['requestState'] };
      result = await send(method, { ...params, ...retry }, options);
    }
    return result;
  };
}

/** A source that remembers every call that reached it. */
export interface RecordingSource extends ToolSource {
  readonly calls: readonly Call[];
}

/** Makes a source of tools that records the calls it gets, to see what stages let through. */
export function recordingSource(...tools: readonly Tool<never>[]): RecordingSource {
  const registry = new ToolRegistry().registerTool(...tools);
  const calls: Call[] = [];
  return {
    calls,
    list: () => registry.list(),
    find: (name) => registry.find(name),
    call(call): Awaitable<Result> {
      calls.push(call);
      return registry.call(call);
    },
    watch: (listener) => registry.watch(listener),
  };
}

/** A call of a tool by the local caller, as a stage gets it; what matters to the test is handed in. */
export function createTestCall(tool: Tool, parts: Partial<Omit<ToolCall, 'kind' | 'tool'>> = {}): ToolCall {
  const { arguments: args = {}, longIntegers, ...given } = parts;
  return makeCall({ kind: 'tool', tool, arguments: args, longIntegers }, { caller: localCaller, ...given });
}

/** A clock that stands still until it is told to move on. */
export interface FakeClock extends Clock {
  /** Moves time on and runs everything that falls due, in order. */
  advance(ms: number): void;
}

/** Makes a clock that starts at the given time (1 January 2026 unless set). */
export function createFakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  let now = startMs;
  const tasks = new Set<{ readonly due: number; readonly task: () => void }>();
  const nextDue = (until: number): { readonly due: number; readonly task: () => void } | undefined =>
    [...tasks].filter(({ due }) => due <= until).toSorted((a, b) => a.due - b.due)[0];
  return {
    now: () => now,
    ticks: () => now - startMs,
    after(ms, task) {
      const entry = { due: now + ms, task };
      tasks.add(entry);
      return () => tasks.delete(entry);
    },
    advance(ms) {
      const until = now + ms;
      for (let entry = nextDue(until); entry; entry = nextDue(until)) {
        tasks.delete(entry);
        now = entry.due;
        entry.task();
      }
      now = until;
    },
  };
}
