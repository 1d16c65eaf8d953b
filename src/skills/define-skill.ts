import { complaintError } from '../config/complaint.ts';
import { ToolcribError } from '../base/errors.ts';
import type { ServedSkill } from '../core/resources/skill.ts';

/** Where a skill is. */
export interface SkillOptions {
  /** The folder with its SKILL.md; its name is the name of the skill. */
  readonly dir: string;
  /** What stands in front of the name in its address, such as `acme/billing`; nothing unless set. */
  readonly path?: string;
}

/** Reads a skill from its folder, for `registerSkill`; throws `invalid_config` with every complaint in `data`. */
export async function defineSkill({ dir, path = '' }: SkillOptions): Promise<ServedSkill> {
  // With the first skill: a program without skills need not load what reads YAML.
  const { readSkills } = await import('./read-skills.ts');
  const { skills, complaints } = await readSkills(dir, { path });
  const errors = complaints.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw complaintError(errors);
  const own = skills.find(({ files }) => files[0]!.uri.split('/').length === depthOf(path));
  if (own) return own;
  throw new ToolcribError('invalid_config', `There is no SKILL.md in ${dir}; name the folder that has one.`);
}

// The scheme takes two slashes; the name and SKILL.md follow the path.
function depthOf(path: string): number {
  return 4 + path.split('/').filter(Boolean).length;
}
