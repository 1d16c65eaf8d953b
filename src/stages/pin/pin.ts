import { z } from 'zod';
import { andThen } from '../../base/awaitable.ts';
import type { Change, ResourceFace, ToolSource } from '../../core/source.ts';
import type { Stage } from '../../core/stage.ts';
import { Admission, type RuleOf } from './admission.ts';
import { definedSkill, definedTool, type Defined } from './defined.ts';
import type { PinBook, PinRule } from './pin-book.ts';
import { pinnedResources } from './pinned-resources.ts';

/** What is done with the definitions of a server: new ones wait, the first listing counts, or nothing is held. */
export const pinMode = z.enum(['approve', 'first-use', 'off']);

/** How the definitions of a server are pinned. */
export type PinMode = z.output<typeof pinMode>;

/** Which definitions of tools and skills of other servers may be used. */
export const pinOptions = z.strictObject({
  mode: pinMode
    .default('first-use')
    .describe(
      'For servers that set no `pin`: `approve` holds every new tool and skill, `first-use` those after the first listing, `off` nothing.',
    ),
});

/** What the stage needs. */
export interface PinParts {
  /** The pins; they survive a reload. */
  readonly book: PinBook;
  /** The modes of servers that have one of their own, by their names. */
  readonly modes?: Readonly<Record<string, PinMode | undefined>>;
  /** What the operator named one by one, by server, skills by `skillsOf` it; it may appear at any time. */
  readonly named?: Readonly<Record<string, readonly string[]>>;
  /** Whether held definitions are recorded; they are unless set. */
  readonly isRecorded?: boolean;
}

/** Hides tools and skills of other servers whose definition is not the pinned one, until an operator approves it. */
export function pin(
  options: z.input<typeof pinOptions>,
  { book, modes = {}, named = {}, isRecorded = true }: PinParts,
): Stage {
  const { mode } = pinOptions.parse(options, { jitless: true });
  const modeOf = (server: string): PinMode =>
    (Object.hasOwn(modes, server) ? modes[server] : undefined) ?? mode;
  const ruleOf = ({ server, names, place }: Defined): PinRule | undefined => {
    const own = modeOf(server);
    const listed = Object.hasOwn(named, place.server) ? named[place.server]! : [];
    return own === 'off'
      ? undefined
      : { mode: own, isNamed: names.some((name) => listed.includes(name)), isRecorded };
  };
  return {
    name: 'pin',
    wrapSource: (source) => pinnedSource(source, book, ruleOf),
  };
}

function pinnedSource(source: ToolSource, book: PinBook, ruleOf: RuleOf): ToolSource {
  const tools = new Admission(book, ruleOf, definedTool);
  const skills = new Admission(book, ruleOf, definedSkill);
  const faces = new WeakMap<ResourceFace, ResourceFace>();
  return {
    list: (caller) => andThen(source.list(caller), (all) => tools.admit(all)),
    find: (name, caller) =>
      andThen(source.find(name, caller), (tool) => tool && tools.admitOne(tool, () => source.list(caller))),
    call: (call) => source.call(call),
    get resources() {
      const face = source.resources;
      if (!face?.skills) return face;
      let pinned = faces.get(face);
      if (!pinned) faces.set(face, (pinned = pinnedResources(face, skills)));
      return pinned;
    },
    get prompts() {
      return source.prompts;
    },
    ...(source.stages && { stages: source.stages }),
    ...(source.watch && { watch: (listener) => watchBoth(source, book, listener) }),
    ...(source.follow && { follow: (uri, caller) => source.follow!(uri, caller) }),
  };
}

// Listeners fetch the list themselves, so they need no names.
const APPROVED: readonly Change[] = [
  { kind: 'tools', added: [], removed: [], modified: [] },
  { kind: 'resources' },
];

function watchBoth(source: ToolSource, book: PinBook, listener: (change: Change) => void): () => void {
  const stops = [source.watch!(listener), book.watch(() => APPROVED.forEach(listener))];
  return () => stops.forEach((stop) => stop());
}
