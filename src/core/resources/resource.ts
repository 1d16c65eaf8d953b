import { content, type AnnotationInput, type ContentAnnotations, type ResourceContents } from '../content.ts';
import type { ToolContext } from '../context.ts';
import { ToolcribError } from '../../base/errors.ts';
import { shownName } from '../../base/shown-name.ts';
import type { LongIntegers } from '../../base/exact-json.ts';
import type { Complete } from '../prompts/prompt.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Icon } from '../tool.ts';
import type { NamedPlace } from '../tool-names.ts';
import { parseUriTemplate, type UriTemplate } from './uri-template.ts';

interface Described {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: ContentAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Readonly<Record<string, unknown>>;
  /** Where it comes from, in merged sources: the label of its source, and its address there. */
  readonly place?: NamedPlace;
  /** Listed fields that this version does not know, kept as they came. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
  /** Integers of the listed fields that a number cannot hold, by their place. */
  readonly longIntegers?: LongIntegers;
}

/** One piece of what a read returned; without a URI or a type of its own it has those of the resource. */
export type ContentsInput = Omit<ResourceContents, 'uri' | 'text' | 'blob'> & {
  readonly uri?: string;
} & ({ readonly text: string } | { readonly blob: Uint8Array | string });

/** What a read may return: text, bytes, one or more pieces; nothing means that there is no such resource. */
export type ReadValue = string | Uint8Array | ContentsInput | readonly ContentsInput[] | null | undefined;

/** Something the application may read as context, at a fixed address. */
export interface Resource extends Described {
  readonly uri: string;
  /** In bytes, before any encoding. */
  readonly size?: number;
  /** It is a file of a skill: its bytes have this digest, and are passed on as they are or not at all. */
  readonly skillFile?: { readonly digest?: string };
  read(uri: string, context: ToolContext): Awaitable<ReadValue>;
}

/** Resources of one kind, whose addresses follow a pattern. */
export interface ResourceTemplate extends Described {
  readonly uriTemplate: string;
  /** The pattern, read. */
  readonly template: UriTemplate;
  /** Suggestions by variable. */
  readonly complete?: Readonly<Record<string, Complete>>;
  read(variables: Readonly<Record<string, string>>, context: ToolContext, uri: string): Awaitable<ReadValue>;
}

/** A resource as `resources/list` shows it. */
export type ListedResource = Omit<Resource, 'read' | 'place' | 'skillFile' | 'longIntegers'>;

/** A template as `resources/templates/list` shows it. */
export type ListedTemplate = Omit<
  ResourceTemplate,
  'read' | 'template' | 'complete' | 'place' | 'longIntegers'
>;

type Written<T> = Omit<T, 'annotations'> & { readonly annotations?: AnnotationInput };

/** What an author writes down about a resource. */
export type ResourceDefinition = Written<ListedResource>;

/** What an author writes down about a template; `complete` suggests values for its variables. */
export type ResourceTemplateDefinition = Written<ListedTemplate> & Pick<ResourceTemplate, 'complete'>;

/** Makes a resource from its definition and the function that reads it. */
export function defineResource(definition: ResourceDefinition, read: Resource['read']): Resource {
  const { annotations, ...described } = definition;
  return labelled(definition, definition.uri, () => {
    checkDescription(definition, read);
    checkUri(definition.uri);
    checkSize(definition.size);
    return Object.freeze({ ...described, ...annotate(annotations), read });
  });
}

/** Makes a template from its definition and the function that reads any resource of that shape. */
export function defineResourceTemplate(
  definition: ResourceTemplateDefinition,
  read: ResourceTemplate['read'],
): ResourceTemplate {
  const { annotations, ...described } = definition;
  return labelled(definition, definition.uriTemplate, () => {
    checkDescription(definition, read);
    const template = parseUriTemplate(definition.uriTemplate);
    checkTemplate(definition, template);
    return Object.freeze({ ...described, ...annotate(annotations), template, read });
  });
}

/** The part of a resource that may be shown. */
export function describeResource(resource: Resource): ListedResource {
  const { uri, size } = resource;
  return { uri, ...shown(resource), ...(size !== undefined && { size }) };
}

/** The part of a template that may be shown. */
export function describeTemplate(template: ResourceTemplate): ListedTemplate {
  return { uriTemplate: template.uriTemplate, ...shown(template) };
}

/** Turns whatever a read returned into the contents of a resource; throws `unknown_resource` when it found none. */
export function toContents(
  value: unknown,
  origin: { readonly uri: string; readonly mimeType?: string | undefined },
): ResourceContents[] {
  if (value === undefined || value === null) throw resourceNotFound(origin.uri);
  const own = { uri: origin.uri, ...(origin.mimeType !== undefined && { mimeType: origin.mimeType }) };
  if (typeof value === 'string') return [{ ...own, text: value }];
  if (value instanceof Uint8Array) return [encoded({ ...own, blob: value })];
  return (Array.isArray(value) ? (value as readonly unknown[]) : [value]).map((piece) => {
    if (!isContentsInput(piece))
      throw new TypeError(
        `The read of ${origin.uri} must return text, a Uint8Array, or pieces with "text" or "blob".`,
      );
    return encoded({ ...own, ...piece });
  });
}

/** The answer for a resource that does not exist, and equally for one the caller may not see. */
export function resourceNotFound(uri: string): ToolcribError {
  const name = shownName(uri);
  return new ToolcribError('unknown_resource', `Unknown resource: ${name}`, { data: { uri: name } });
}

const ABSOLUTE = /^[A-Za-z][A-Za-z\d+.-]*:[^\s]/;

function checkDescription(definition: Written<Described>, read: unknown): void {
  if (typeof definition.name !== 'string' || definition.name.trim() === '')
    refuse('needs a name that people can tell it by.');
  if (typeof read !== 'function') refuse('needs a function that reads it.');
}

function checkUri(uri: unknown): void {
  if (typeof uri !== 'string' || !ABSOLUTE.test(uri))
    refuse(`needs an absolute URI with a scheme, such as "note://inbox", not ${JSON.stringify(uri)}.`);
  if (/[{}]/.test(uri)) refuse('has a variable in its URI; use defineResourceTemplate or encode the brace.');
  if (/\s/.test(uri)) refuse('has a space in its URI; write it as "%20".');
}

function checkSize(size: unknown): void {
  if (size === undefined || (Number.isSafeInteger(size) && (size as number) >= 0)) return;
  refuse(`needs a size in whole bytes, not ${JSON.stringify(size)}.`);
}

function checkTemplate({ uriTemplate, complete }: ResourceTemplateDefinition, template: UriTemplate): void {
  if (!/^[A-Za-z][A-Za-z\d+.-]*:/.test(uriTemplate))
    refuse('needs a URI template that begins with a scheme, such as "note://{id}".');
  if (template.variables.length === 0) refuse('has no variable in its URI template; use defineResource.');
  const strange = Object.keys(complete ?? {}).find((name) => !template.variables.includes(name));
  if (strange !== undefined)
    refuse(`completes "${strange}", which is none of its variables (${template.variables.join(', ')}).`);
}

function refuse(problem: string): never {
  throw new ToolcribError('invalid_tool', problem);
}

function labelled<T>(definition: { readonly name?: unknown }, address: unknown, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ToolcribError)) throw error;
    const label = String(definition.name || address);
    throw new ToolcribError('invalid_tool', `Resource "${label}": ${error.message}`, { cause: error });
  }
}

// The content builders already know which annotations strict clients accept.
function annotate(input: AnnotationInput | undefined): { annotations?: ContentAnnotations } {
  const { annotations } = content.text('', input);
  return annotations ? { annotations } : {};
}

function shown(from: Described): Described {
  const { name, title, description, mimeType, annotations, icons, _meta, extraFields } = from;
  return {
    ...extraFields,
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
    ...(annotations && Object.keys(annotations).length > 0 && { annotations }),
    ...(icons && { icons }),
    ...(_meta && { _meta }),
  };
}

function isContentsInput(value: unknown): value is ContentsInput {
  if (typeof value !== 'object' || value === null) return false;
  if ('text' in value) return typeof value.text === 'string';
  return 'blob' in value && (typeof value.blob === 'string' || value.blob instanceof Uint8Array);
}

function encoded(piece: ContentsInput & { readonly uri: string }): ResourceContents {
  if ('text' in piece) return piece;
  try {
    return content.resource(piece).resource;
  } catch (cause) {
    // What the builder says is for the author, who reads it in the log: a read has no result to say it in.
    throw new TypeError(`The read of ${piece.uri} returned a blob that is not base64.`, { cause });
  }
}
