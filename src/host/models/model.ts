import type { JsonSchema, ObjectSchema } from '../../schema/schema.ts';

/** A piece of a message; what a model cannot take has become text before. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64. */
  | { readonly type: 'image'; readonly mimeType: string; readonly data: string };

/** What a model wants done: a tool, by the name it was offered under, and its arguments. */
export interface ToolRequest {
  readonly id: string;
  readonly name: string;
  /** Text that is not a JSON object stays text: the model gets an error, and may try again. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** One message of a conversation, in one form for every endpoint. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** What a person, or the program in the person's place, says. */
export interface UserMessage {
  readonly role: 'user';
  readonly content: readonly Part[];
}

/** What the model said. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly text: string;
  readonly toolCalls: readonly ToolRequest[];
  /** What the endpoint wants to see again unchanged, such as signed reasoning; only its own adapter reads it. */
  readonly kept?: unknown;
}

/** What came of one tool call. */
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
  /** What the final answer must look like. */
  readonly outputSchema?: JsonSchema;
  readonly maxOutputTokens?: number;
}

/** What a turn used, in tokens; `undefined` where the endpoint did not say. */
export interface Usage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** The part of `inputTokens` that came from the endpoint's cache. */
  readonly cachedTokens: number | undefined;
}

/** Why a turn ended. */
export type StopReason = 'finished' | 'tool_calls' | 'length' | 'refused';

/** What is heard of a turn; `end` is always the last, and a turn that fails throws instead. */
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
  /** What the endpoint calls it. */
  readonly name: string;
  readonly features: {
    /** Whether the endpoint itself keeps definitions back until they are asked for. */
    readonly deferral: boolean;
    readonly images: boolean;
  };
  respond(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelEvent>;
}
