import { andThen, type Awaitable } from '../../base/awaitable.ts';
import type { Caller } from '../../core/caller.ts';
import type { Resource, ResourceTemplate } from '../../core/resources/resource.ts';
import { isFileBelow, mayReach, skillRoot, type ServedSkill } from '../../core/resources/skill.ts';
import type { ResourceFace, SkillFace } from '../../core/source.ts';
import type { Admission } from './admission.ts';

/** Resources without the skills that are held, and without the files of these. */
export function pinnedResources(face: ResourceFace, admission: Admission<ServedSkill>): ResourceFace {
  const skillsOf = (caller: Caller): Awaitable<Skills> =>
    andThen(face.skills?.list(caller) ?? NONE, (all) =>
      andThen(admission.admit(all), (shown) => ({ all, shown })),
    );
  const lists = new WeakMap<readonly Resource[], Listed>();
  const skills: SkillFace = {
    list: (caller) => andThen(skillsOf(caller), ({ shown }) => shown),
    isKnown: (caller) => face.skills?.isKnown?.(caller) ?? true,
  };
  return {
    get skills() {
      return face.skills && skills;
    },
    list: (caller) =>
      andThen(face.list(caller), (resources) =>
        andThen(skillsOf(caller), (known) => withoutHeld(resources, known, lists)),
      ),
    templates: (caller) => face.templates(caller),
    find: (uri, caller) =>
      andThen(face.find(uri, caller), (found) => {
        if (!found?.resource.place) return found;
        const { resource } = found;
        if (!('skillFile' in resource || 'uriTemplate' in resource)) return found;
        return andThen(skillsOf(caller), (known) => {
          const isOut = 'uriTemplate' in resource ? mayReachHeld(uri, resource, known) : isHeld(uri, known);
          return isOut ? undefined : found;
        });
      }),
  };
}

interface Skills {
  readonly all: readonly ServedSkill[];
  readonly shown: readonly ServedSkill[];
}

interface Listed extends Skills {
  readonly resources: readonly Resource[];
}

// The same array as long as nothing changed, so that encoded pages are kept.
function withoutHeld(
  resources: readonly Resource[],
  known: Skills,
  lists: WeakMap<readonly Resource[], Listed>,
): readonly Resource[] {
  if (known.all === known.shown) return resources;
  const last = lists.get(resources);
  if (last?.all === known.all && last.shown === known.shown) return last.resources;
  const shown = Object.freeze(resources.filter(({ uri, skillFile }) => !skillFile || !isHeld(uri, known)));
  lists.set(resources, { ...known, resources: shown });
  return shown;
}

// A file of an approved skill may be used, also if a skill that is held has it, too.
function isHeld(uri: string, { all, shown }: Skills): boolean {
  const has = (skill: ServedSkill): boolean =>
    skill.isDynamic ? isFileBelow(skillRoot(skill), uri) : skill.files.some((file) => file.uri === uri);
  return !shown.some(has) && all.some(has);
}

function mayReachHeld(uri: string, { place }: ResourceTemplate, { all, shown }: Skills): boolean {
  if (all === shown) return false;
  const held = all.filter((skill) => !shown.includes(skill) && skill.place?.source === place?.source);
  return mayReach(held, uri);
}

const NONE: readonly never[] = Object.freeze([]);
