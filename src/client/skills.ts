import { createHash } from 'node:crypto';
import { canonicalJson } from '../base/canonical-json.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { parseFrontMatter } from '../config/front-matter.ts';
import { isListedFile, skillLimits } from '../core/resources/skill.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import type { Client } from './client.ts';

/** One file of a skill. */
export interface SkillFile {
  readonly uri: string;
  /** `sha256:` and 64 hex digits. */
  readonly digest: string;
  readonly size: number;
}

/** A skill as a server lists it; what it is called says nothing, the server and the address together do. */
export interface Skill {
  /** The address of its SKILL.md. */
  readonly uri: string;
  readonly frontmatter: JsonObject;
  /** All its files; `dynamic` where they cannot be known before. */
  readonly resources: readonly SkillFile[] | 'dynamic';
}

/** A skill whose SKILL.md was read and is what the list promised. */
export interface LoadedSkill extends Skill {
  /** The whole SKILL.md. */
  readonly text: string;
  /** Reads one of its files, and checks it; other addresses are refused. */
  readFile(uri: string): Promise<Uint8Array>;
}

type Reader = Pick<Client, 'request' | 'readResource'>;

const MAX_PAGES = 100;

/** The skills a server lists; nothing of them is read yet. */
export async function listSkills(client: Reader): Promise<readonly Skill[]> {
  const skills: Skill[] = [];
  for await (const entry of skillEntries(client)) skills.push(readSkill(entry));
  return skills;
}

/** What a server lists as skills, as it came, page by page as far as it is wanted. */
export async function* skillEntries(client: Pick<Client, 'request'>): AsyncGenerator {
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { skills: found, nextCursor } = await client.request(
      'skills/list',
      typeof cursor === 'string' ? { cursor } : {},
    );
    if (!Array.isArray(found)) throw wrong('a list without "skills"');
    yield* found as readonly unknown[];
    if (typeof nextCursor !== 'string' || nextCursor === cursor) return;
    cursor = nextCursor;
  }
  throw wrong(`a list of over ${MAX_PAGES} pages`);
}

/** Reads a skill's SKILL.md and checks size, digest and front matter against its entry. */
export async function loadSkill(client: Reader, skill: Skill): Promise<LoadedSkill> {
  const bytes = await readChecked(client, skill, skill.uri);
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const written = frontMatterOf(text);
  if (canonicalJson(written) !== canonicalJson(skill.frontmatter))
    throw wrong(`the skill ${skill.uri} with other front matter than it lists`);
  return { ...skill, text, readFile: (uri) => readChecked(client, skill, uri) };
}

function frontMatterOf(text: string): JsonObject {
  try {
    return parseFrontMatter(text);
  } catch (cause) {
    throw wrong('a SKILL.md without front matter', cause);
  }
}

async function readChecked(
  client: Reader,
  { uri: skill, resources }: Skill,
  uri: string,
): Promise<Uint8Array> {
  const entry = resources === 'dynamic' ? undefined : resources.find((file) => file.uri === uri);
  if (!entry && resources !== 'dynamic')
    throw new ToolcribError('refused', `${uri} is not a file of the skill ${skill}.`);
  const bytes = fileBytes(await client.readResource(uri));
  if (!bytes) throw wrong(`nothing for ${uri}`);
  if (!entry) return bytes;
  if (bytes.length !== entry.size)
    throw wrong(`${uri} with ${bytes.length} bytes, where it lists ${entry.size}`);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (digest !== entry.digest) throw wrong(`${uri} with other content than it lists`);
  return bytes;
}

/** The bytes of the one file in what was read; `undefined` where it is none. */
export function fileBytes(read: unknown): Uint8Array | undefined {
  const contents = isObject(read) && Array.isArray(read['contents']) ? (read['contents'] as unknown[]) : [];
  const [only] = contents;
  if (contents.length !== 1 || !isObject(only)) return undefined;
  if (typeof only['text'] === 'string') return Buffer.from(only['text'], 'utf8');
  return typeof only['blob'] === 'string' ? Buffer.from(only['blob'], 'base64') : undefined;
}

function readSkill(item: unknown): Skill {
  if (!isObject(item) || typeof item['uri'] !== 'string' || !isObject(item['frontmatter']))
    throw wrong('a skill without an address or front matter');
  const { uri, frontmatter, resources } = item;
  if (resources === 'dynamic') return { ...item, uri, frontmatter, resources };
  if (!Array.isArray(resources) || resources.length > skillLimits.files || !resources.every(isListedFile))
    throw wrong(`the skill ${uri} with files that are not described, or over ${skillLimits.files} of them`);
  if (resources.reduce((sum, { size }) => sum + size, 0) > skillLimits.bytes)
    throw wrong(`the skill ${uri} with over ${skillLimits.bytes} bytes`);
  return { ...item, uri, frontmatter, resources };
}

function wrong(what: string, cause?: unknown): ToolcribError {
  return new ToolcribError('invalid_answer', `The server sent ${what}.`, { cause });
}
