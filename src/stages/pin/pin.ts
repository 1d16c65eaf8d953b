import { z } from 'zod';
import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { Caller } from '../../core/caller.ts';
import type { Change, ToolSource } from '../../core/source.ts';
import type { Stage } from '../../core/stage.ts';
import type { Tool } from '../../core/tool.ts';
import type { PinLister } from '../../store/pin.ts';
import type { PinBook, Verdict } from './pin-book.ts';

/** What is done with the definitions of a server: new ones wait, the first listing counts, or nothing is held. */
export const pinMode = z.enum(['approve', 'first-use', 'off']);

/** How the definitions of a server are pinned. */
export type PinMode = z.output<typeof pinMode>;

/** Which definitions of tools of other servers may be used. */
export const pinOptions = z.strictObject({
  mode: pinMode
    .default('first-use')
    .describe(
      'For servers that set no `pin`: `approve` holds every new tool, `first-use` those after the first listing, `off` nothing.',
    ),
});

/** What the stage needs. */
export interface PinParts {
  /** What is known about definitions; it survives a reload. */
  readonly book: PinBook;
  /** The modes of servers that have one of their own, by their names. */
  readonly modes?: Readonly<Record<string, PinMode | undefined>>;
  /** Tools that the operator named one by one, by their servers; they may appear at any time. */
  readonly named?: Readonly<Record<string, readonly string[]>>;
  /** Whether what is held goes on record; it does unless set. */
  readonly isRecorded?: boolean;
}

/** Hides tools of other servers whose definition is not the pinned one, until an operator approves it. */
export function pin(
  options: z.input<typeof pinOptions>,
  { book, modes = {}, named = {}, isRecorded = true }: PinParts,
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
    const isNamed = Object.hasOwn(named, place.source) && named[place.source]!.includes(place.name);
    const pinPlace = { ...listerOf(tool), tool: place.name };
    return andThen(book.judge(tool, pinPlace, { mode: own, isNamed, isRecorded }), (verdict) => {
      if (verdict !== 'unknown') known.set(tool, { epoch, verdict });
      return verdict;
    });
  };
  const isNew = (tool: Tool): boolean =>
    tool.place !== undefined && !book.isKnown(listerOf(tool)) && modeOf(tool.place.source) === 'first-use';
  return { name: 'pin', wrapSource: (source) => pinnedSource(source, book, { judge, isNew }) };
}

interface Known {
  /** When the verdict was reached, in changes of pins. */
  readonly epoch: number;
  readonly verdict: Verdict;
}

interface Judging {
  readonly judge: (tool: Tool) => Awaitable<Verdict>;
  /** Whether a tool is of a server whose first listing to its account is yet to be pinned. */
  readonly isNew: (tool: Tool) => boolean;
}

function pinnedSource(source: ToolSource, book: PinBook, { judge, isNew }: Judging): ToolSource {
  const lists = new WeakMap<readonly Tool[], { readonly epoch: number; readonly shown: readonly Tool[] }>();
  const admit = (all: readonly Tool[]): Awaitable<readonly Tool[]> => {
    const known = lists.get(all);
    const { epoch } = book;
    if (known?.epoch === epoch) return known.shown;
    if (all.some(isNew)) return introduceAll(all.filter(isNew), book).then(() => judgeAll(all));
    return judgeAll(all);
  };
  const judgeAll = (all: readonly Tool[]): Awaitable<readonly Tool[]> => {
    const { epoch } = book;
    return andThen(whole(all.map(judge)), (verdicts) => {
      const isWhole = verdicts.every((verdict) => verdict === 'admitted');
      const shown = isWhole ? all : Object.freeze(all.filter((_tool, at) => verdicts[at] === 'admitted'));
      if (!verdicts.includes('unknown')) lists.set(all, { epoch, shown });
      return shown;
    });
  };
  const judgeOne = (tool: Tool): Awaitable<Tool | undefined> =>
    andThen(judge(tool), (verdict) => (verdict === 'admitted' ? tool : undefined));
  const admitOne = (tool: Tool | undefined, caller: Caller): Awaitable<Tool | undefined> => {
    if (!tool) return undefined;
    // The whole listing is pinned with the first tool that is looked for: what is not in it comes later.
    return isNew(tool) ? andThen(andThen(source.list(caller), admit), () => judgeOne(tool)) : judgeOne(tool);
  };
  return {
    list: (caller) => andThen(source.list(caller), admit),
    find: (name, caller) => andThen(source.find(name, caller), (tool) => admitOne(tool, caller)),
    call: (call) => source.call(call),
    get resources() {
      return source.resources;
    },
    get prompts() {
      return source.prompts;
    },
    ...(source.stages && { stages: source.stages }),
    ...(source.watch && { watch: (listener) => watchBoth(source, book, listener) }),
    ...(source.follow && { follow: (uri, caller) => source.follow!(uri, caller) }),
  };
}

async function introduceAll(tools: readonly Tool[], book: PinBook): Promise<void> {
  // A list is that of one caller, so all tools of a server are of one account.
  const listers = new Map(tools.map((tool) => [tool.place!.source, listerOf(tool)]));
  const of = (server: string): readonly Tool[] => tools.filter(({ place }) => place!.source === server);
  await Promise.all(Array.from(listers, ([server, lister]) => book.introduce(lister, of(server))));
}

function listerOf({ place, account = '' }: Tool): PinLister {
  return { server: place!.source, account };
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
