import { isObject } from '../../base/json.ts';
import { ownerOf, type Caller } from '../caller.ts';
import type { ContentBlock } from '../content.ts';
import type { Result } from '../result.ts';
import type { Tool } from '../tool.ts';
import { makeRoomIn } from '../memory/bounded-map.ts';

type Meta = Readonly<Record<string, unknown>>;

/** The address a name of a source is shown under. */
export type ToShown = (uri: string) => string;

const SCHEME = 'ui://';
// The older spelling of the address of an app, which many servers still write.
const FLAT = 'ui/resourceUri';
// Who read longest ago is forgotten first; an app that is opened again is read again.
const MAX_CALLERS = 10_000;

/** Which sources callers have read an app of: its page calls their tools by their own names. */
export class ReadApps {
  readonly #sources = new Map<string, Set<string>>();

  /** Notes that a caller has read an app. */
  note(caller: Caller, source: string): void {
    const owner = ownerOf(caller);
    const known = this.#sources.get(owner) ?? new Set();
    known.add(source);
    this.#sources.delete(owner);
    makeRoomIn(this.#sources, MAX_CALLERS);
    this.#sources.set(owner, known);
  }

  /** The sources whose apps a caller has read. */
  of(caller: Caller): ReadonlySet<string> {
    return this.#sources.size === 0 ? NONE : (this.#sources.get(ownerOf(caller)) ?? NONE);
  }
}

const NONE: ReadonlySet<string> = new Set();

/** Whether an address is that of an app. */
export function isApp(uri: string): boolean {
  return uri.startsWith(SCHEME);
}

/** The addresses of the apps that a tool is shown with, in both spellings. */
export function appsOf({ _meta }: Pick<Tool, '_meta'>): readonly string[] {
  if (!_meta) return [];
  const { ui } = _meta;
  return [isObject(ui) ? ui['resourceUri'] : undefined, _meta[FLAT]].filter(
    (uri): uri is string => typeof uri === 'string' && isApp(uri),
  );
}

/** The same `_meta` with the addresses of apps as they are shown; all else stays. */
export function withShownApps(meta: Meta, toShown: ToShown): Meta {
  const { ui } = meta;
  const nested = isObject(ui) ? shownOf(ui['resourceUri'], toShown) : undefined;
  const flat = shownOf(meta[FLAT], toShown);
  if (nested === undefined && flat === undefined) return meta;
  return {
    ...meta,
    ...(nested !== undefined && { ui: { ...(ui as object), resourceUri: nested } }),
    ...(flat !== undefined && { [FLAT]: flat }),
  };
}

/** A result whose links and resources have the addresses they are shown under; what was not renamed stays. */
export function withShownAddresses(result: Result, toShown: ToShown): Result {
  if (result.kind === 'needs_input') return result;
  const { content, meta } = result;
  const shownContent = content && withShownBlocks(content, toShown);
  const shownMeta = meta && withShownApps(meta, toShown);
  if (shownContent === content && shownMeta === meta) return result;
  return {
    ...result,
    ...(shownContent && { content: shownContent }),
    ...(shownMeta && { meta: shownMeta }),
  };
}

function withShownBlocks(blocks: readonly ContentBlock[], toShown: ToShown): readonly ContentBlock[] {
  const shown = blocks.map((block) => withShownBlock(block, toShown));
  return shown.every((block, index) => block === blocks[index]) ? blocks : shown;
}

function withShownBlock(block: ContentBlock, toShown: ToShown): ContentBlock {
  if (block.type === 'resource_link') {
    const uri = shownAddress(block.uri, toShown);
    return uri === undefined ? block : { ...block, uri };
  }
  if (block.type !== 'resource' || !isObject(block.resource)) return block;
  const { resource } = block;
  const uri = shownAddress(resource.uri, toShown);
  return uri === undefined ? block : { ...block, resource: { ...resource, uri } };
}

function shownOf(uri: unknown, toShown: ToShown): string | undefined {
  return typeof uri === 'string' && isApp(uri) ? shownAddress(uri, toShown) : undefined;
}

// Another server may send anything as an address.
function shownAddress(uri: unknown, toShown: ToShown): string | undefined {
  if (typeof uri !== 'string') return undefined;
  const shown = toShown(uri);
  return shown === uri ? undefined : shown;
}
