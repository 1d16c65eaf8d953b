import type { Caller } from './caller.ts';
import type { Cancellation } from '../base/cancellation.ts';
import type { LongIntegers } from '../base/exact-json.ts';
import type { ResourceLinkBlock } from './content.ts';
import type { Interview } from './interview.ts';
import type { Prompt } from './prompts/prompt.ts';
import type { CallRecord } from './record.ts';
import type { Resource, ResourceTemplate } from './resources/resource.ts';
import type { Tool } from './tool.ts';

/** What the client said of itself with this request: shown and logged, never trusted. */
export interface ClientFacts {
  readonly name: string | undefined;
  readonly version: string | undefined;
  /** The revision spoken with it; absent inside one process. */
  readonly protocolVersion: string | undefined;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** How far a call has come. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** How much a log entry matters, least first. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

/** One of the log levels. */
export type ClientLogLevel = (typeof logLevels)[number];

/** Something a tool hands out by link instead of sending it. */
export interface Publication {
  readonly name: string;
  readonly data: string | Uint8Array;
  readonly mimeType?: string;
  readonly description?: string;
  /** How long the link works, an hour unless set. */
  readonly ttlMs?: number;
}

/** What a call can send to its client while it runs; without the members that its client did not ask for or lacks. */
export interface Voice {
  readonly report?: ((progress: Progress) => void) | undefined;
  readonly log?: (level: ClientLogLevel, data: unknown, logger?: string) => void;
  /** The least important log entries the client wants; none where it is left out. */
  readonly logLevel?: ClientLogLevel | undefined;
  /** Makes the call a task. */
  readonly detach?: (() => void) | undefined;
  /** Lets the call wait, after it has asked, for the answers in a further request of its client. */
  readonly park?: (() => void) | undefined;
  /** Keeps something for the caller to fetch, and returns the link. */
  readonly publish?: ((publication: Publication) => ResourceLinkBlock) | undefined;
  /** Closes the stream; the client comes back for the rest. */
  readonly closeStream?: () => void;
  /** Cleans all later messages before they are sent. */
  readonly cleanWith?: (clean: Clean) => void;
}

/** Cleans a message of a tool, so that it may be sent. */
export type Clean = <T>(said: T) => T;

/** What calls of every kind have. */
export interface CallParts {
  readonly caller: Caller;
  readonly client: ClientFacts;
  /** The request's `_meta`, as sent. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly cancellation: Cancellation;
  readonly interview: Interview;
  readonly voice: Voice;
  readonly record: CallRecord;
}

/** A tool is run. */
export interface ToolCall extends CallParts {
  readonly kind: 'tool';
  readonly tool: Tool;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Integers among the arguments that a number cannot hold, by their place. */
  readonly longIntegers?: LongIntegers | undefined;
}

/** The arguments in a form to compare or digest: with long integers as they were written. */
export function givenOf({
  arguments: args,
  longIntegers,
}: Pick<ToolCall, 'arguments' | 'longIntegers'>): unknown {
  return longIntegers ? [args, longIntegers] : args;
}

/** A resource is read. */
export interface ResourceCall extends CallParts {
  readonly kind: 'resource';
  readonly resource: Resource | ResourceTemplate;
  readonly uri: string;
  /** The values of the template's variables in this address; empty for a plain resource. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A prompt is filled in. */
export interface PromptCall extends CallParts {
  readonly kind: 'prompt';
  readonly prompt: Prompt;
  readonly arguments: Readonly<Record<string, string>>;
}

/** Values for an argument are suggested. */
export interface CompletionCall extends CallParts {
  readonly kind: 'completion';
  readonly target: Prompt | ResourceTemplate;
  readonly argument: { readonly name: string; readonly value: string };
  /** What the user has chosen for other arguments already. */
  readonly chosen: Readonly<Record<string, string>>;
  /** Whether the caller may see the address that these values give a template; other values are not suggested. */
  readonly isSeen?: ((values: Readonly<Record<string, string>>) => boolean) | undefined;
}

/** A call that is not of a tool. */
export type Reading = ResourceCall | PromptCall | CompletionCall;

/** One call on its way, by kind; a stage passes on a changed copy. */
export type Call = ToolCall | Reading;
