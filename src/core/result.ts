import type { LongIntegers } from '../base/exact-json.ts';
import { isObject } from '../base/json.ts';
import { isContentBlock, type ContentBlock, type ResourceBlock } from './content.ts';
import type { Question } from './question.ts';

/** How a call ended. */
export type Result = Done | Failed | NeedsInput;

// The values of a result from another server may be getters, which parse what is large when it is first read.
interface Ending {
  /** Blocks in order; absent if the result is data alone, which is then shown as JSON text. */
  readonly content?: readonly ContentBlock[];
  /** The structured value; `undefined` means there is none, `null` is a value. */
  readonly data?: unknown;
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Fields this version does not know, kept as they came. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** What is known of a result that another server made. */
  readonly relayed?: Relayed;
}

/** What a result from another server has besides its values. */
export interface Relayed {
  /** Integers that a number cannot hold, by their place in the result. */
  readonly longIntegers?: LongIntegers;
  /** The JSON that another server wrote for this very result; a copy, which may be changed, has none. */
  readonly jsonOf?: (result: Result) => RelayedJson | undefined;
}

/** The JSON of a result inside the message it came in. */
export interface RelayedJson {
  readonly message: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Where each of its members begins. */
  readonly members: readonly number[];
  /** Whether the whole message is ASCII. */
  readonly isAscii: boolean;
  /** Its blocks, perhaps with empty texts in place of long ones; left out, they are known from the result alone. */
  readonly blocks?: readonly ContentBlock[];
}

/** The tool did what it was asked. */
export interface Done extends Ending {
  readonly kind: 'done';
}

/** The tool could not; its content tells the model why. */
export interface Failed extends Ending {
  readonly kind: 'failed';
}

/** The client must answer first; the call is then made again with the answers. */
export interface NeedsInput {
  readonly kind: 'needs_input';
  readonly questions: ReadonlyMap<string, Question>;
  /** Answers of earlier rounds, to be carried along. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** The state of the server behind the gateway that asks; it goes back with the answers. */
  readonly state?: string;
}

/** A result that says only why the call failed. */
export function failed(text: string, meta?: Readonly<Record<string, unknown>>): Failed {
  return { kind: 'failed', content: [{ type: 'text', text }], ...(meta && { meta }) };
}

/**
 * Turns whatever a handler returned into a result: a plain value, a block, blocks, a full result or an error envelope.
 * Text is data only for a tool that declares an output schema.
 */
export function toResult(value: unknown, hasOutputSchema = false): Done | Failed {
  if (value === undefined) return { kind: 'done', content: [] };
  if (typeof value === 'string' && !hasOutputSchema)
    return { kind: 'done', content: [{ type: 'text', text: value }] };
  if (typeof value !== 'object' || value === null) return { kind: 'done', data: value };
  if (isContentBlock(value)) return { kind: 'done', content: withLinks([value]) };
  if (Array.isArray(value))
    return isBlockList(value) && value.length > 0
      ? { kind: 'done', content: withLinks(value) }
      : { kind: 'done', data: value };
  if (isFullResult(value)) return fromFullResult(value);
  return { kind: isErrorEnvelope(value) ? 'failed' : 'done', data: value };
}

interface FullResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

function isFullResult(value: object): value is FullResult {
  return 'content' in value && Array.isArray(value.content) && value.content.every(isTyped);
}

function fromFullResult(value: FullResult): Done | Failed {
  const { content, structuredContent, isError, _meta, ...extra } = value;
  return {
    kind: isError === true ? 'failed' : 'done',
    content: withLinks(content),
    ...(structuredContent !== undefined && { data: structuredContent }),
    ...(_meta && { meta: _meta }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

/** The same blocks, with a link for a resource without content, on which strict clients would fail. */
export function withLinks(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
  return blocks.some(isBodyless)
    ? blocks.map((block) => (isBodyless(block) ? toLink(block) : block))
    : blocks;
}

function isBodyless(block: ContentBlock): block is ResourceBlock {
  if (block.type !== 'resource') return false;
  // Authors without types may leave the resource out altogether, and another server may send anything.
  const resource: unknown = block.resource;
  return isObject(resource) && !('text' in resource) && !('blob' in resource);
}

function toLink({ resource, ...rest }: ResourceBlock): ContentBlock {
  return { name: resource.uri, ...rest, ...(resource as { uri: string }), type: 'resource_link' };
}

// `{ error }` and `{ success: false }` are how many handlers report failure; a null error means there was none.
function isErrorEnvelope(value: object): boolean {
  if ('success' in value && value.success === false) return true;
  return 'error' in value && value.error !== null && value.error !== undefined && value.error !== false;
}

function isBlockList(value: readonly unknown[]): value is readonly ContentBlock[] {
  return value.every(isContentBlock);
}

// Block types of later revisions pass through unchanged.
function isTyped(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
