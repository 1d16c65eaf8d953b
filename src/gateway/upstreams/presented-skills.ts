import { andThen, type Awaitable } from '../../base/awaitable.ts';
import { compileGlob } from '../../base/glob.ts';
import type { UpstreamEntry } from '../../config/servers.ts';
import type { ResourceCall } from '../../core/call.ts';
import type { Resource } from '../../core/resources/resource.ts';
import { isFileBelow, mayReach, skillRoot, type ServedSkill } from '../../core/resources/skill.ts';
import type { Result } from '../../core/result.ts';
import type { UpstreamLists } from './catalog.ts';
import type { Upstream } from './upstream.ts';
import { requireListedBytes, unlistedFile } from './skills.ts';

/** What the operator lets through of the skills of an upstream. */
export interface PresentedSkills {
  readonly skills: readonly ServedSkill[];
  /** All listed resources but the files of skills that are not used. */
  readonly resources: readonly Resource[];
  readonly isHidden: (uri: string) => boolean;
  /** Whether an address that follows a template may lead to a file of a skill that is not used. */
  readonly mayBeHidden: (uri: string) => boolean;
  /** A file of a skill that is used. */
  readonly find: (uri: string) => Resource | undefined;
}

type IsLetThrough = (...names: readonly string[]) => boolean;

/** Whether something of an upstream is let through, by any of its names. */
export function createFilter({ deny }: UpstreamEntry, letThrough: UpstreamEntry['tools']): IsLetThrough {
  const allowed = (letThrough === '*' ? ['*'] : letThrough).map(compileGlob);
  const denied = deny.map(compileGlob);
  return (...names) =>
    names.some((name) => allowed.some((fits) => fits(name))) &&
    !names.some((name) => denied.some((fits) => fits(name)));
}

/** The skills and resources of one account that may be shown. */
export type SkillPresenting = (lists: UpstreamLists, account: string | undefined) => PresentedSkills;

/** Shows what the operator lets through; the lists are those of one account, so they alone are the key. */
export function createSkillPresenting(entry: UpstreamEntry): SkillPresenting {
  const isLetThrough = createFilter(entry, entry.skills);
  const known = new WeakMap<UpstreamLists, PresentedSkills>();
  return (lists, account) => {
    let presented = known.get(lists);
    if (!presented) known.set(lists, (presented = presentSkills(lists, account, isLetThrough)));
    return presented;
  };
}

function presentSkills(
  { skills: all, resources }: UpstreamLists,
  account: string | undefined,
  isLetThrough: IsLetThrough,
): PresentedSkills {
  const used = all.filter(({ uri, frontmatter }) => isLetThrough(String(frontmatter['name']), uri));
  const files = filesOf(used);
  const others = all.filter((skill) => !used.includes(skill));
  const hidden = filesOf(others);
  const isHidden = (uri: string): boolean =>
    !files.has(uri) && (hidden.has(uri) || isBelowDynamic(others, uri));
  return {
    skills: Object.freeze(account === undefined ? used : used.map((skill) => ({ ...skill, account }))),
    resources: others.length === 0 ? resources : Object.freeze(resources.filter(({ uri }) => !isHidden(uri))),
    isHidden,
    mayBeHidden: (uri) => mayReach(others, uri),
    find: (uri) => files.get(uri) ?? (isBelowDynamic(used, uri) ? unlistedFile(uri) : undefined),
  };
}

/** Reads a file of a skill, and passes it on if it is the one that was listed. */
export function readSkillFile(upstream: Upstream, call: ResourceCall, file: Resource): Awaitable<Result> {
  return andThen(upstream.call(call), (result) => {
    try {
      return requireListedBytes(result, file);
    } catch (error) {
      // It may have a newer version, which is then looked at like any other.
      upstream.catalogOf(call.caller)?.outdate();
      throw error;
    }
  });
}

function filesOf(skills: readonly ServedSkill[]): ReadonlyMap<string, Resource> {
  const files = skills.flatMap((skill) => skill.files.slice(1));
  const mains = skills.map((skill) => skill.files[0]!);
  return new Map([...files, ...mains].map((file) => [file.uri, file]));
}

function isBelowDynamic(skills: readonly ServedSkill[], uri: string): boolean {
  return skills.some((skill) => skill.isDynamic && isFileBelow(skillRoot(skill), uri));
}
