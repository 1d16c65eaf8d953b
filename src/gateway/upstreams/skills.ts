import { createHash } from 'node:crypto';
import type { Client } from '../../client/client.ts';
import { fileBytes, skillEntries } from '../../client/skills.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { resourceNotFound, type Resource } from '../../core/resources/resource.ts';
import {
  readListedSkill,
  shownSkill,
  type ListedFile,
  type ServedSkill,
} from '../../core/resources/skill.ts';
import type { Result } from '../../core/result.ts';

/** What the skills of a server are read with. */
export interface UpstreamSkillsParts {
  /** Its resources, by address: they say more about files than the list of a skill. */
  readonly listed: ReadonlyMap<string, Resource>;
  /** Whether a value has nothing invisible and no secret in it. */
  readonly isClean: (value: unknown) => boolean;
  readonly onWarning: (text: string) => void;
}

// What one server may fill the lists of a gateway with.
const MAX_SKILLS = 500;
const MAX_FILES = 20_000;

/** The skills of a server that can be passed on; each of the others is left out with a warning. */
export async function readUpstreamSkills(
  client: Client,
  { listed, isClean, onWarning }: UpstreamSkillsParts,
): Promise<readonly ServedSkill[]> {
  const skills = new Map<string, ServedSkill>();
  const repeated = new Set<string>();
  let seen = 0;
  let files = 0;
  for await (const entry of skillEntries(client)) {
    if (++seen > MAX_SKILLS || files > MAX_FILES) {
      onWarning(`It lists too many skills; only the first ${seen - 1} are used.`);
      break;
    }
    const skill = toSkill(entry, listed);
    const flaw =
      typeof skill === 'string' ? skill : isClean(entry) ? undefined : 'it has invisible text or a secret';
    if (flaw !== undefined || typeof skill === 'string') {
      onWarning(`The skill ${shownSkill(entry)} is left out: ${flaw}.`);
      continue;
    }
    if (skills.has(skill.uri)) repeated.add(skill.uri);
    skills.set(skill.uri, skill);
    files += skill.files.length;
  }
  // Which of them is meant cannot be known.
  for (const uri of repeated) {
    skills.delete(uri);
    onWarning(`The skill ${shownSkill({ uri })} is left out: it is listed twice.`);
  }
  return [...skills.values()];
}

/** A file of a skill that a server sent, if it is what the server listed; otherwise it throws `invalid_answer`. */
export function requireListedBytes(result: Result, { uri, size, skillFile }: Resource): Result {
  if (result.kind !== 'done' || skillFile?.digest === undefined) return result;
  const bytes = fileBytes(result.data);
  const digest = bytes && `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (bytes?.length === size && digest === skillFile.digest) return result;
  throw new ToolcribError(
    'invalid_answer',
    `${uri} is not the file that its skill lists; it is not passed on.`,
  );
}

/** A file of a dynamic skill, which nothing lists. */
export function unlistedFile(uri: string): Resource {
  return { uri, name: uri.slice(uri.lastIndexOf('/') + 1), skillFile: {}, read: unread };
}

function toSkill(entry: unknown, listed: ReadonlyMap<string, Resource>): ServedSkill | string {
  const skill = readListedSkill(entry);
  if (typeof skill === 'string') return skill;
  const { uri, frontmatter, resources, _meta, ...extraFields } = skill;
  const { name, description } = frontmatter as { name: string; description: string };
  const main = { name, description, mimeType: 'text/markdown', ...listed.get(uri) };
  const files: readonly FileEntry[] = resources === 'dynamic' ? [{ uri }] : resources;
  const first = files.find((file) => file.uri === uri)!;
  return {
    uri,
    frontmatter,
    files: [first, ...files.filter((file) => file !== first)].map((file) =>
      fileOf(file, file === first ? main : listed.get(file.uri)),
    ),
    ...(resources === 'dynamic' && { isDynamic: true }),
    ...(isObject(_meta) && { _meta }),
    ...(Object.keys(extraFields).length > 0 && { extraFields }),
  };
}

type FileEntry = Pick<ListedFile, 'uri'> & Partial<ListedFile>;

function fileOf({ uri, size, digest }: FileEntry, known: Partial<Resource> | undefined): Resource {
  const name = uri.slice(uri.lastIndexOf('/') + 1);
  const { size: _size, ...described } = known ?? {};
  return {
    name,
    read: unread,
    ...described,
    uri,
    skillFile: digest === undefined ? {} : { digest },
    ...(size !== undefined && { size }),
  };
}

// It is read at its server.
function unread(uri: string): never {
  throw resourceNotFound(uri);
}
