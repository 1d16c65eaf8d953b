import { ToolcribError } from '../base/errors.ts';

/** Who a block is for, how much it matters (0 to 1) and when its content last changed. */
export interface ContentAnnotations {
  readonly audience?: readonly ('user' | 'assistant')[];
  readonly priority?: number;
  readonly lastModified?: string;
}

interface Block {
  readonly annotations?: ContentAnnotations;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** Text for the model or the user. */
export interface TextBlock extends Block {
  readonly type: 'text';
  readonly text: string;
}

/** A picture, base64 encoded. */
export interface ImageBlock extends Block {
  readonly type: 'image';
  readonly data: string;
  readonly mimeType: string;
}

/** A sound, base64 encoded. */
export interface AudioBlock extends Block {
  readonly type: 'audio';
  readonly data: string;
  readonly mimeType: string;
}

/** A pointer to something the client may read if it wants to. */
export interface ResourceLinkBlock extends Block {
  readonly type: 'resource_link';
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

/** The content of a resource: text, or base64 bytes. */
export type ResourceContents = {
  readonly uri: string;
  readonly mimeType?: string;
  readonly title?: string;
} & ({ readonly text: string } | { readonly blob: string });

/** A resource carried inside the result. */
export interface ResourceBlock extends Block {
  readonly type: 'resource';
  readonly resource: ResourceContents;
}

/** One piece of a result. */
export type ContentBlock = TextBlock | ImageBlock | AudioBlock | ResourceLinkBlock | ResourceBlock;

/** Annotations as an author writes them: a date may be a `Date`. */
export interface AnnotationInput extends Omit<ContentAnnotations, 'lastModified'> {
  readonly lastModified?: string | Date;
}

type Bytes = Uint8Array | string;
type Resource = Omit<ResourceLinkBlock, 'type' | 'annotations'>;

/** Builders for every kind of content a result can hold. */
export const content = {
  /** Plain or Markdown text. */
  text: (text: string, annotations?: AnnotationInput): TextBlock => ({
    type: 'text',
    text,
    ...annotate(annotations),
  }),

  /** A picture from bytes or base64 text. */
  image: (data: Bytes, mimeType: string, annotations?: AnnotationInput): ImageBlock => ({
    type: 'image',
    data: toBase64(data),
    mimeType,
    ...annotate(annotations),
  }),

  /** A sound from bytes or base64 text. */
  audio: (data: Bytes, mimeType: string, annotations?: AnnotationInput): AudioBlock => ({
    type: 'audio',
    data: toBase64(data),
    mimeType,
    ...annotate(annotations),
  }),

  /** A link to a resource, instead of its content. */
  resourceLink: (resource: Resource, annotations?: AnnotationInput): ResourceLinkBlock => ({
    type: 'resource_link',
    ...resource,
    ...annotate(annotations),
  }),

  /** A resource with its content, text or bytes. */
  resource: (
    resource: Omit<ResourceContents, 'text' | 'blob'> &
      ({ readonly text: string } | { readonly blob: Bytes }),
    annotations?: AnnotationInput,
  ): ResourceBlock => ({
    type: 'resource',
    resource: 'blob' in resource ? { ...resource, blob: toBase64(resource.blob) } : resource,
    ...annotate(annotations),
  }),

  /** Rows as a Markdown table; columns are those of all rows, in the order they appear. */
  table: (rows: readonly Readonly<Record<string, unknown>>[], annotations?: AnnotationInput): TextBlock =>
    content.text(toMarkdownTable(rows), annotations),
};

const BLOCK_TYPES: ReadonlySet<unknown> = new Set<ContentBlock['type']>([
  'text',
  'image',
  'audio',
  'resource_link',
  'resource',
]);

/** Tells a content block from other data a handler may return. */
export function isContentBlock(value: unknown): value is ContentBlock {
  if (typeof value !== 'object' || value === null || !('type' in value) || !BLOCK_TYPES.has(value.type))
    return false;
  switch (value.type as ContentBlock['type']) {
    case 'text':
      return 'text' in value && typeof value.text === 'string';
    case 'image':
    case 'audio':
      return 'data' in value && typeof value.data === 'string' && 'mimeType' in value;
    case 'resource_link':
      return 'uri' in value && typeof value.uri === 'string' && 'name' in value;
    case 'resource':
      return 'resource' in value && typeof value.resource === 'object' && value.resource !== null;
  }
}

function annotate(input: AnnotationInput | undefined): { annotations?: ContentAnnotations } {
  if (!input) return {};
  const { lastModified, audience, priority } = input;
  if (audience?.some((role) => role !== 'user' && role !== 'assistant')) {
    throw new ToolcribError('tool_failed', 'A content audience may only name "user" and "assistant".');
  }
  if (priority !== undefined && !(priority >= 0 && priority <= 1)) {
    throw new ToolcribError('tool_failed', `A content priority must lie between 0 and 1, not ${priority}.`);
  }
  const date = lastModified === undefined ? undefined : toIsoDate(lastModified);
  return {
    annotations: { ...(input as ContentAnnotations), ...(date !== undefined && { lastModified: date }) },
  };
}

const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

function toIsoDate(date: string | Date): string {
  const time = typeof date === 'string' ? Date.parse(date) : date.getTime();
  if (Number.isNaN(time) || (typeof date === 'string' && !ISO_DATE.test(date)))
    throw new ToolcribError('tool_failed', 'A lastModified annotation must be an ISO 8601 date.');
  return typeof date === 'string' ? date : date.toISOString();
}

function toBase64(data: Bytes): string {
  if (typeof data !== 'string')
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
  if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(data)) {
    throw new ToolcribError(
      'tool_failed',
      'Binary content given as text must be base64; pass a Uint8Array for raw bytes.',
    );
  }
  return data;
}

function toMarkdownTable(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return '(no rows)';
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(toCell)),
    line(columns.map(() => '---')),
    ...rows.map((row) => line(columns.map((column) => toCell(row[column])))),
  ].join('\n');
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const isText = typeof value === 'string' || typeof value === 'bigint';
  const text = isText ? String(value) : (JSON.stringify(value) ?? '');
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll(/\r\n|\r|\n/g, '<br>');
}
