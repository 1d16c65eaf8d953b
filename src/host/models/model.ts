import type { JsonSchema, ObjectSchema } from '../../schema/schema.ts';

/** A piece of a message; kinds that a model cannot take have become text before. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64. */
  | { readonly type: 'image'; readonly mimeType: string; readonly data: string };

/** A call that a model asks for: a tool, by the name it was offered under, and its arguments. */
export interface ToolRequest {
  readonly id: string;
  readonly name: string;
  /** Text that is not a JSON object stays text: the model gets an error, and may try again. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** One message of a conversation, in one form for every endpoint. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A message of a person, or of the program in the person's place. */
export interface UserMessage {
  readonly role: 'user';
  readonly content: readonly Part[];
}

/** A message of the model. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly text: string;
  readonly toolCalls: readonly ToolRequest[];
  /** Data that the endpoint must get back unchanged, such as signed reasoning; only its own adapter reads it. */
  readonly kept?: unknown;
}

/** The outcome of one tool call. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly callId: string;
  readonly name: string;
  readonly content: readonly Part[];
  readonly isError: boolean;
}

/** A tool as a model is offered it. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  /** Only the name is shown until the model asks for the rest; set only where `features.deferral` is. */
  readonly isDeferred?: boolean;
}

/** One turn that a model is asked for. */
export interface ModelRequest {
  readonly instructions: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ModelTool[];
  /** Whether several tools may be called in one turn. */
  readonly parallel: boolean;
  /** The schema of the final answer. */
  readonly outputSchema?: JsonSchema;
  readonly maxOutputTokens?: number;
}

/** The usage of a turn, in tokens; `undefined` if the endpoint did not tell. */
export interface Usage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** The part of `inputTokens` that came from the endpoint's cache. */
  readonly cachedTokens: number | undefined;
}

/** Why a turn ended. */
export type StopReason = 'finished' | 'tool_calls' | 'length' | 'refused';

/** The events of a turn; `end` is always the last, and a turn that fails throws instead. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  /** The endpoint asked for a pause; the request is sent again after it. */
  | { readonly type: 'waiting'; readonly ms: number; readonly reason: string }
  | {
      readonly type: 'end';
      readonly message: AssistantMessage;
      readonly usage: Usage;
      readonly stopReason: StopReason;
    };

/** A model behind an endpoint. */
export interface Model {
  /** The name that the endpoint uses for it. */
  readonly name: string;
  readonly features: {
    /** Whether the endpoint itself keeps definitions back until they are asked for. */
    readonly deferral: boolean;
    readonly images: boolean;
  };
  respond(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelEvent>;
}
