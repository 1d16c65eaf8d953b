import { allOf, andThen } from '../../base/awaitable.ts';
import type { ServedSkill } from '../resources/skill.ts';
import type { SkillFace } from '../source.ts';
import { OWN } from '../tool-names.ts';
import { MergedLists } from './merged-lists.ts';
import type { MergedFaces } from './merge-readings.ts';
import { placeOf, type Placing } from './placing.ts';

// Where a skill comes from, in its `_meta`: the label of its server, and its address there.
const SKILL_ORIGIN = 'dev.toolcrib/origin';

/** The skills of all sources: the label of its source is the first part of the path of each file. */
export function mergeSkills({ parts, addresses }: MergedFaces, place: Placing): SkillFace {
  const known = new MergedLists<ServedSkill>();
  const placed = (skill: ServedSkill, source: string): ServedSkill => {
    if (source === OWN) return skill;
    const files = skill.files.map((file) => {
      const at = placeOf(source, file);
      return place(file, at, addresses.toShown(at));
    });
    const origin = { server: addresses.labelOf(source), uri: skill.uri };
    return {
      ...skill,
      uri: files[0]!.uri,
      files,
      place: { source, name: skill.uri },
      _meta: { ...skill._meta, [SKILL_ORIGIN]: origin },
    };
  };
  const put = (lists: readonly (readonly ServedSkill[])[]): readonly ServedSkill[] => {
    const all = lists.flatMap((skills, index) =>
      skills.map((skill) => ({ skill, source: parts[index]!.label })),
    );
    addresses.assign(all.flatMap(({ skill, source }) => skill.files.map((file) => placeOf(source, file))));
    return all.map(({ skill, source }) => placed(skill, source)).toSorted((a, b) => (a.uri < b.uri ? -1 : 1));
  };
  return {
    list: (caller) =>
      andThen(allOf(parts.map(({ source }) => source.resources?.skills?.list(caller) ?? NONE)), (all) =>
        known.of(all, put),
      ),
    isKnown: (caller) => parts.every(({ source }) => source.resources?.skills?.isKnown?.(caller) ?? true),
  };
}

const NONE: readonly never[] = Object.freeze([]);
