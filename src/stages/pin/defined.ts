import { canonicalJson } from '../../base/canonical-json.ts';
import { exactDefinition } from '../../core/definition-digest.ts';
import type { ServedSkill } from '../../core/resources/skill.ts';
import { asAuthored, type Tool } from '../../core/tool.ts';
import { skillsOf, type PinPlace } from '../../store/pin.ts';

/** Something of another server whose definition is pinned: a tool or a skill. */
export interface Defined {
  /** The object by which verdicts are remembered. */
  readonly item: object;
  /** The name of its server. */
  readonly server: string;
  /** The names by which the operator may name it. */
  readonly names: readonly string[];
  readonly place: PinPlace;
  readonly definition: () => string;
}

/** A tool as its server defines it, without the name and the description that the operator gives it. */
export function definedTool(tool: Tool): Defined | undefined {
  if (!tool.place) return undefined;
  const { source: server, name } = tool.place;
  const { account = '' } = tool;
  return {
    item: tool,
    server,
    names: [name],
    place: { server, account, tool: name },
    definition: () => canonicalJson({ ...exactDefinition(asAuthored(tool)), name }),
  };
}

/** A skill as its server has it: its front matter, and the digests of all its files. */
export function definedSkill(skill: ServedSkill): Defined | undefined {
  if (!skill.place) return undefined;
  const { source: server, name: uri } = skill.place;
  const { account = '' } = skill;
  return {
    item: skill,
    server,
    names: [String(skill.frontmatter['name']), uri],
    place: { server: skillsOf(server), account, tool: uri },
    definition: () => canonicalJson({ uri, frontmatter: skill.frontmatter, resources: filesOf(skill) }),
  };
}

// By address, so that the order of a list is no change.
function filesOf({ files, isDynamic }: ServedSkill): unknown {
  if (isDynamic) return 'dynamic';
  const theirs = files.map((file) => [
    file.place?.name ?? file.uri,
    { digest: file.skillFile?.digest, size: file.size },
  ]);
  return Object.fromEntries(theirs) as unknown;
}
