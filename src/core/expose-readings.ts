import { absentReadings } from './absent-tool.ts';
import type { CompletionCall, Reading } from './call.ts';
import type { Caller } from './caller.ts';
import type { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { toCompletion, unknownPrompt, type Prompt } from './prompts/prompt.ts';
import { resourceNotFound, type Resource, type ResourceTemplate } from './resources/resource.ts';
import type { ServedSkill } from './resources/skill.ts';
import type { Result } from './result.ts';
import { andThen } from '../base/awaitable.ts';
import type { PromptFace, ResourceFace, SkillFace, ToolSource } from './source.ts';
import { makeRoomIn } from './memory/bounded-map.ts';

/** What a reading is of. */
export type Readable = Resource | ResourceTemplate | Prompt;

/** A stage that says what a caller sees. */
interface Exposing {
  readonly exposeReading?: (target: Readable, caller: Caller, address?: string) => boolean;
}

/** What callers see of the resources and prompts of a source. */
export interface ExposedReadings {
  readonly resources: () => ResourceFace | undefined;
  readonly prompts: () => PromptFace | undefined;
  /** A completion that suggests only what its caller sees; any other reading as it is. */
  readonly narrow: (call: Reading) => Reading;
}

/** Narrows the resources and prompts of a source to what each caller sees. */
export function exposeReadings(source: ToolSource, all: readonly Exposing[]): ExposedReadings {
  const exposing = all.filter((one) => one.exposeReading);
  if (exposing.length === 0)
    return { resources: () => source.resources, prompts: () => source.prompts, narrow: (call) => call };
  const isSeen = (target: Readable, caller: Caller, address?: string): boolean =>
    exposing.every((one) => one.exposeReading!(target, caller, address));
  const resources = new WeakMap<ResourceFace, ResourceFace>();
  const prompts = new WeakMap<PromptFace, PromptFace>();
  return {
    resources: () => narrowed(source.resources, resources, (face) => narrowResources(face, isSeen)),
    prompts: () => narrowed(source.prompts, prompts, (face) => narrowPrompts(face, isSeen)),
    narrow: (call) => (call.kind === 'completion' ? narrowCompletion(call, isSeen) : call),
  };
}

/** Throws for a placeholder of something that cannot be found. */
export function requirePresent(call: Reading): void {
  if (absentReadings.has(targetOf(call))) throw unknownReading(call);
}

/** The resource, template or prompt that a reading is of. */
export function targetOf(call: Reading): Readable {
  switch (call.kind) {
    case 'resource':
      return call.resource;
    case 'prompt':
      return call.prompt;
    case 'completion':
      return call.target;
  }
}

/** The error for a name or address with nothing for this caller. */
export function unknownReading(call: Reading): ToolcribError {
  switch (call.kind) {
    case 'resource':
      return resourceNotFound(call.uri);
    case 'prompt':
      return unknownPrompt(call.prompt.name);
    case 'completion': {
      const { target } = call;
      return 'uriTemplate' in target ? resourceNotFound(target.uriTemplate) : unknownPrompt(target.name);
    }
  }
}

/** Tells which suggestions the caller may see; `undefined` if all. */
export function suggestionFilter(call: CompletionCall): ((value: string) => boolean) | undefined {
  const { isSeen, chosen, argument } = call;
  return isSeen && ((value) => isSeen({ ...chosen, [argument.name]: value }));
}

/** A completion without what its caller does not see, whatever source it comes from. */
export function withoutUnseen(result: Result, call: CompletionCall): Result {
  const isShown = suggestionFilter(call);
  if (!isShown || result.kind !== 'done' || !isObject(result.data)) return result;
  const values = result.data['values'] as readonly string[];
  // Without the total, which would reveal how many are left out.
  return values.every(isShown) ? result : { ...result, data: toCompletion(values, isShown) };
}

type IsSeen = (target: Readable, caller: Caller, address?: string) => boolean;

function narrowed<F extends object>(
  face: F | undefined,
  known: WeakMap<F, F>,
  narrow: (face: F) => F,
): F | undefined {
  if (!face) return undefined;
  let made = known.get(face);
  if (!made) known.set(face, (made = narrow(face)));
  return made;
}

function narrowResources(face: ResourceFace, isSeen: IsSeen): ResourceFace {
  const resources = new SeenLists<Resource>(isSeen);
  const templates = new SeenLists<ResourceTemplate>(isSeen);
  const skills = new WeakMap<SkillFace, SkillFace>();
  return {
    get skills() {
      return narrowed(face.skills, skills, (all) => narrowSkills(all, isSeen));
    },
    list: (caller) => andThen(face.list(caller), (all) => resources.of(all, caller)),
    templates: (caller) => andThen(face.templates(caller), (all) => templates.of(all, caller)),
    find: (uri, caller) =>
      andThen(face.find(uri, caller), (found) =>
        found && isSeen(found.resource, caller, 'uriTemplate' in found.resource ? uri : undefined)
          ? found
          : undefined,
      ),
  };
}

// A skill is visible to callers who can see all its files, because its list of files must be complete.
function narrowSkills(face: SkillFace, isSeen: IsSeen): SkillFace {
  const skills = new SeenLists<ServedSkill>(({ files }, caller) =>
    files.every((file) => isSeen(file, caller)),
  );
  return {
    list: (caller) => andThen(face.list(caller), (all) => skills.of(all, caller)),
    ...(face.isKnown && { isKnown: (caller) => face.isKnown!(caller) }),
  };
}

function narrowPrompts(face: PromptFace, isSeen: IsSeen): PromptFace {
  const prompts = new SeenLists<Prompt>(isSeen);
  return {
    list: (caller) => andThen(face.list(caller), (all) => prompts.of(all, caller)),
    find: (name, caller) =>
      andThen(face.find(name, caller), (prompt) => (prompt && isSeen(prompt, caller) ? prompt : undefined)),
  };
}

function narrowCompletion(call: CompletionCall, isSeen: IsSeen): CompletionCall {
  const { target, caller, isSeen: isSeenOutside } = call;
  if (!('uriTemplate' in target) || absentReadings.has(target)) return call;
  return {
    ...call,
    isSeen: (values) =>
      isSeen(target, caller, target.template.fill(values)) && (isSeenOutside?.(values) ?? true),
  };
}

// More kinds of list than this are not remembered at once; the oldest is made again when it is asked for.
const MAX_LISTS = 1_000;

/** Lists the visible entries: the same array for all callers who see the same, so that it is encoded once. */
class SeenLists<T extends object> {
  readonly #isSeen: (target: T, caller: Caller) => boolean;
  readonly #known = new WeakMap<readonly T[], Map<string, readonly T[]>>();

  constructor(isSeen: (target: T, caller: Caller) => boolean) {
    this.#isSeen = isSeen;
  }

  of(all: readonly T[], caller: Caller): readonly T[] {
    const marks = all.map((target) => (this.#isSeen(target, caller) ? '1' : '0'));
    const key = marks.join('');
    let lists = this.#known.get(all);
    if (!lists) this.#known.set(all, (lists = new Map<string, readonly T[]>()));
    let seen = lists.get(key);
    if (!seen) {
      makeRoomIn(lists, MAX_LISTS);
      lists.set(key, (seen = Object.freeze(all.filter((_target, index) => marks[index] === '1'))));
    }
    return seen;
  }
}
