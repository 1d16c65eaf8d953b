/** Where a server is, or how to start it; with server-sent events it is a stream beside which messages are posted. */
export type Address =
  | { readonly url: string; readonly sse?: boolean }
  | { readonly command: string; readonly args: string[] };

/** How a call is made. */
export interface CallOptions {
  readonly onprogress?: (progress: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => void;
  readonly signal?: AbortSignal;
}

/** A tool's result, as an SDK hands it to its user. */
export interface CallResult {
  readonly content: readonly Record<string, unknown>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** What a client does and receives beside its own calls. */
export interface Hooks {
  /** Whether it can be asked anything; it can unless set. */
  readonly answers?: boolean;
  /** Hears the names of all tools, listed again after a change. */
  readonly toolsChanged?: (names: readonly string[]) => void;
  readonly resourceUpdated?: (uri: string) => void;
  readonly logged?: (entry: { level: string; data?: unknown; logger?: string | undefined }) => void;
  /** Hears, with the status, that it went back to a stream it had lost. */
  readonly wentBack?: (status: number) => void;
  readonly failed?: (error: Error) => void;
}

type Item = Readonly<Record<string, unknown>>;

/** What the SDKs' clients have in common. */
export interface SdkClient {
  readonly serverName: string | undefined;
  /** The session, where the transport has one. */
  sessionId(): string | undefined;
  listTools(): Promise<readonly Item[]>;
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<CallResult>;
  listResources(): Promise<readonly Item[]>;
  listResourceTemplates(): Promise<readonly Item[]>;
  readResource(uri: string): Promise<readonly Item[]>;
  /** Listens to a resource, in the way of the revision; the returned function ends it. */
  subscribe(uri: string): Promise<() => Promise<void>>;
  listPrompts(): Promise<readonly Item[]>;
  getPrompt(name: string, args?: Record<string, string>): Promise<Item>;
  complete(ref: CompletionRef, name: string, value: string): Promise<readonly string[]>;
  setLoggingLevel(level: 'debug' | 'info' | 'warning' | 'error'): Promise<void>;
  endSession(): Promise<void>;
  close(): Promise<void>;
}

/** What a completion is for. */
export type CompletionRef =
  | { readonly type: 'ref/prompt'; readonly name: string }
  | { readonly type: 'ref/resource'; readonly uri: string };

/** Connects one kind of client. */
export type ConnectSdk = (address: Address, hooks?: Hooks) => Promise<SdkClient>;

/** Who the clients say they are. */
export const identity = { name: 'interop', version: '1.0.0' };

/** What the clients can be asked. */
export const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** What the clients answer when they are asked. */
export const answers = {
  elicit: ({ message, mode }: { message: string; mode?: string | undefined }) => {
    if (message.includes('refuse')) return { action: 'decline' as const };
    return mode === 'url'
      ? { action: 'accept' as const }
      : { action: 'accept' as const, content: { colour: 'red' } };
  },
  sample: () => ({
    role: 'assistant' as const,
    model: 'parrot-1',
    content: { type: 'text' as const, text: 'forty-two' },
  }),
  roots: () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }] }),
};

/** A fetch that tells when the client goes back to a stream. */
export function tellingFetch({
  wentBack,
}: Hooks): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (new Headers(init?.headers).has('last-event-id')) wentBack?.(response.status);
    return response;
  };
}

/** All pages of a list. */
export async function allPages<T>(
  list: (page: { cursor?: string }) => Promise<{ items: readonly T[]; nextCursor?: string | undefined }>,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor === undefined ? {} : { cursor });
    all.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}
