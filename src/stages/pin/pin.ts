import { z } from 'zod';
import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { Change, ToolSource } from '../../core/source.ts';
import type { Stage } from '../../core/stage.ts';
import type { Tool } from '../../core/tool.ts';
import type { PinBook, Verdict } from './pin-book.ts';

/** What is done with the definitions of a server: new ones wait, the first one counts, or nothing is held. */
export const pinMode = z.enum(['approve', 'first-use', 'off']);

/** How the definitions of a server are pinned. */
export type PinMode = z.output<typeof pinMode>;

/** Which definitions of tools of other servers may be used. */
export const pinOptions = z.strictObject({
  mode: pinMode
    .default('first-use')
    .describe(
      'For servers that set no `pin`: `approve` holds new tools too, `first-use` pins what is seen first, `off` holds nothing.',
    ),
});

/** What the stage needs. */
export interface PinParts {
  /** What is known about definitions; it survives a reload. */
  readonly book: PinBook;
  /** The modes of servers that have one of their own, by their names. */
  readonly modes?: Readonly<Record<string, PinMode | undefined>>;
  /** Whether what is held goes on record; it does unless set. */
  readonly isRecorded?: boolean;
}

/** Hides tools of other servers whose definition is not the pinned one, until an operator approves it. */
export function pin(
  options: z.input<typeof pinOptions>,
  { book, modes = {}, isRecorded = true }: PinParts,
): Stage {
  const { mode } = pinOptions.parse(options, { jitless: true });
  const modeOf = (server: string): PinMode =>
    (Object.hasOwn(modes, server) ? modes[server] : undefined) ?? mode;
  const known = new WeakMap<Tool, Known>();
  const judge = (tool: Tool): Awaitable<Verdict> => {
    const { place } = tool;
    if (!place) return 'admitted';
    const last = known.get(tool);
    const { epoch } = book;
    if (last?.epoch === epoch) return last.verdict;
    const own = modeOf(place.source);
    if (own === 'off') return 'admitted';
    return andThen(book.judge(tool, place, { mode: own, isRecorded }), (verdict) => {
      if (verdict !== 'unknown') known.set(tool, { epoch, verdict });
      return verdict;
    });
  };
  return { name: 'pin', wrapSource: (source) => pinnedSource(source, book, judge) };
}

interface Known {
  /** When the verdict was reached, in changes of pins. */
  readonly epoch: number;
  readonly verdict: Verdict;
}

function pinnedSource(
  source: ToolSource,
  book: PinBook,
  judge: (tool: Tool) => Awaitable<Verdict>,
): ToolSource {
  const lists = new WeakMap<readonly Tool[], { readonly epoch: number; readonly shown: readonly Tool[] }>();
  const admit = (all: readonly Tool[]): Awaitable<readonly Tool[]> => {
    const known = lists.get(all);
    const { epoch } = book;
    if (known?.epoch === epoch) return known.shown;
    return andThen(whole(all.map(judge)), (verdicts) => {
      const isWhole = verdicts.every((verdict) => verdict === 'admitted');
      const shown = isWhole ? all : Object.freeze(all.filter((_tool, at) => verdicts[at] === 'admitted'));
      if (!verdicts.includes('unknown')) lists.set(all, { epoch, shown });
      return shown;
    });
  };
  const admitOne = (tool: Tool | undefined): Awaitable<Tool | undefined> =>
    tool && andThen(judge(tool), (verdict) => (verdict === 'admitted' ? tool : undefined));
  return {
    list: (caller) => andThen(source.list(caller), admit),
    find: (name, caller) => andThen(source.find(name, caller), admitOne),
    call: (call) => source.call(call),
    get resources() {
      return source.resources;
    },
    get prompts() {
      return source.prompts;
    },
    ...(source.stages && { stages: source.stages }),
    ...(source.watch && { watch: (listener) => watchBoth(source, book, listener) }),
  };
}

function whole(verdicts: readonly Awaitable<Verdict>[]): Awaitable<readonly Verdict[]> {
  return verdicts.some((verdict) => verdict instanceof Promise)
    ? Promise.all(verdicts.map(async (verdict) => verdict))
    : (verdicts as readonly Verdict[]);
}

// Listeners look at the list themselves, so the names of what was approved are not needed.
const APPROVED: Change = { kind: 'tools', added: [], removed: [], modified: [] };

function watchBoth(source: ToolSource, book: PinBook, listener: (change: Change) => void): () => void {
  const stops = [source.watch!(listener), book.watch(() => listener(APPROVED))];
  return () => stops.forEach((stop) => stop());
}
