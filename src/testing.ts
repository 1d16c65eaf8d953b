import type { ToolCall } from './core/call.ts';
import { localCaller, type Caller } from './core/caller.ts';
import type { Clock } from './core/clock.ts';
import { ToolRegistry } from './core/registry.ts';
import type { Result } from './core/result.ts';
import type { Awaitable, ToolSource } from './core/source.ts';
import type { ListedTool, Tool } from './core/tool.ts';
import type { ContentBlock } from './core/content.ts';
import { metaKeys } from './protocol/meta.ts';
import type { JsonRpcMessage, Server } from './server/create-server.ts';

/** How a test client presents itself. */
export interface TestClientOptions {
  /** `2026-07-28` unless set. */
  readonly protocolVersion?: '2026-07-28' | '2025-06-18';
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

/** Connects a test client to a server. */
export function createTestClient(server: Server, options: TestClientOptions = {}): TestClient {
  const { protocolVersion = '2026-07-28', caller = localCaller } = options;
  const meta =
    protocolVersion === '2026-07-28'
      ? { [metaKeys.protocolVersion]: protocolVersion, [metaKeys.clientCapabilities]: {} }
      : {};
  let lastId = 0;

  const request: TestClient['request'] = async (method, params = {}, { signal, onProgress } = {}) => {
    const id = ++lastId;
    const message: JsonRpcMessage = {
      jsonrpc: '2.0',
      id,
      method,
      params: {
        ...params,
        _meta: { ...meta, ...(onProgress && { progressToken: id }), ...(params['_meta'] as object) },
      },
    };
    const notify = (note: JsonRpcMessage): void => {
      if (note['method'] === 'notifications/progress') onProgress?.(note['params'] as { progress: number });
    };
    const answer = await server.handle(message, { caller, notify, ...(signal && { signal }) });
    if (!answer) throw new Error(`${method} was cancelled.`);
    if ('error' in answer) throw Object.assign(new Error('The server refused the request.'), answer['error']);
    return answer['result'] as Record<string, unknown>;
  };

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

/** A source that remembers every call that reached it. */
export interface RecordingSource extends ToolSource {
  readonly calls: readonly ToolCall[];
}

/** Makes a source of tools that records the calls it gets, to see what stages let through. */
export function recordingSource(...tools: readonly Tool<never>[]): RecordingSource {
  const registry = new ToolRegistry().registerTool(...tools);
  const calls: ToolCall[] = [];
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
