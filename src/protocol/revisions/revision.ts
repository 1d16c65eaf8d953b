import type { Era } from '../wire/era.ts';
import type { JsonObject } from '../wire/json-rpc.ts';

/** How a server names itself to clients. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** What a server says when a client first asks. */
export interface Introduction {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: Capabilities;
  readonly supportedVersions: readonly string[];
}

/** What a server can do for this client. */
export interface Capabilities {
  /** Whether changes of lists and resources reach this client. */
  readonly changes: boolean;
  readonly resources: boolean;
  readonly prompts: boolean;
}

/** How structured data is put into text: indented for reading, or as short as possible. */
export type JsonText = 'pretty' | 'compact';

/** Which parts of our model a revision can express. */
export interface Features {
  readonly toolAnnotations: boolean;
  /** Titles, dates of change, and `_meta` on definitions, blocks and contents. */
  readonly titles: boolean;
  /** Output schemas and structured content: none, objects only, or any JSON value. */
  readonly structured: 'none' | 'objects' | 'any';
  readonly icons: boolean;
  readonly audio: boolean;
  readonly resourceLinks: boolean;
  /** Arguments that are repeated in headers (`x-mcp-header`). */
  readonly paramHeaders: boolean;
  readonly progressMessages: boolean;
  readonly completionsCapability: boolean;
  /** Asking the user: not at all, by form without naming it so, or by form and page. */
  readonly elicitation: 'none' | 'forms' | 'modes';
  /** Several messages in one body. */
  readonly batches: boolean;
  /** Streams begin with an event to come back to, so that they may be closed early. */
  readonly resumableFromStart: boolean;
}

/** One revision of the protocol: which methods it has, what it can express, and what it puts around a result. */
export interface Revision {
  readonly version: string;
  readonly era: Era;
  /** A method that is not here does not exist in this revision. */
  readonly methods: ReadonlySet<string>;
  readonly features: Features;
  introduce(introduction: Introduction): JsonObject;
  /** The text of the members a tool's result begins with, each with its comma. */
  readonly lead: string;
  /** The text of a tool result's `_meta`, if it has one. */
  writeMeta(meta: JsonObject | undefined, info: Implementation): string | undefined;
  /** Completes a result; `cacheable` ones say for how long. Members that are `undefined` are not sent. */
  frame(body: JsonObject, info: Implementation, cacheable?: 'cacheable'): JsonObject;
}
