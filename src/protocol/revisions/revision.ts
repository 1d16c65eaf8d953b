import type { Era } from '../wire/era.ts';
import type { JsonObject } from '../wire/json-rpc.ts';

/** How a server names itself to clients. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** What a server says about itself in the first response. */
export interface Introduction {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly capabilities: Capabilities;
  readonly supportedVersions: readonly string[];
}

/** What a server can do for this client. */
export interface Capabilities {
  /** Whether this client is notified of changes of lists and resources. */
  readonly changes: boolean;
  readonly resources: boolean;
  readonly prompts: boolean;
  /** Whether there are skills for this client; revisions without extensions cannot say so. */
  readonly skills: boolean;
}

/** How structured data is written as text: indented, or as short as possible. */
export type JsonText = 'pretty' | 'compact';

/** Which parts of our model a revision can express. */
export interface Features {
  readonly toolAnnotations: boolean;
  /** Titles, modification dates, and `_meta` on definitions, blocks and contents. */
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
  /** Elicitation: none, forms without a `mode`, or forms and URLs. */
  readonly elicitation: 'none' | 'forms' | 'modes';
  /** Several messages in one body. */
  readonly batches: boolean;
  /** Streams start with an event id to resume from, so that they may be closed early. */
  readonly resumableFromStart: boolean;
}

/** One revision of the protocol: its methods, its features, and the fields it adds to results. */
export interface Revision {
  readonly version: string;
  readonly era: Era;
  /** A method that is not here does not exist in this revision. */
  readonly methods: ReadonlySet<string>;
  readonly features: Features;
  introduce(introduction: Introduction): JsonObject;
  /** The text of the first members of a tool's result, each with its comma. */
  readonly lead: string;
  /** The text of a tool result's `_meta`, if it has one. */
  writeMeta(meta: JsonObject | undefined, info: Implementation): string | undefined;
  /** Completes a result; `cacheable` ones say for how long. Members that are `undefined` are not sent. */
  frame(body: JsonObject, info: Implementation, cacheable?: 'cacheable'): JsonObject;
}
