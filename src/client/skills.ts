import { createHash } from 'node:crypto';
import { canonicalJson } from '../base/canonical-json.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { parseFrontMatter } from '../config/front-matter.ts';
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

const MAX_FILES = 512;
const MAX_BYTES = 16_777_216;
const MAX_PAGES = 100;

/** The skills a server lists; nothing of them is read yet. */
export async function listSkills(client: Reader): Promise<readonly Skill[]> {
  const skills: Skill[] = [];
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { skills: found, nextCursor } = await client.request(
      'skills/list',
      typeof cursor === 'string' ? { cursor } : {},
    );
    if (!Array.isArray(found)) throw wrong('a list without "skills"');
    skills.push(...found.map(readSkill));
    if (typeof nextCursor !== 'string' || nextCursor === cursor) return skills;
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
  const bytes = bytesOf(await client.readResource(uri), uri);
  if (!entry) return bytes;
  if (bytes.length !== entry.size)
    throw wrong(`${uri} with ${bytes.length} bytes, where it lists ${entry.size}`);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (digest !== entry.digest) throw wrong(`${uri} with other content than it lists`);
  return bytes;
}

function bytesOf({ contents }: JsonObject, uri: string): Uint8Array {
  const [first] = Array.isArray(contents) ? (contents as unknown[]) : [];
  if (isObject(first) && typeof first['text'] === 'string') return Buffer.from(first['text'], 'utf8');
  if (isObject(first) && typeof first['blob'] === 'string') return Buffer.from(first['blob'], 'base64');
  throw wrong(`nothing for ${uri}`);
}

function readSkill(item: unknown): Skill {
  if (!isObject(item) || typeof item['uri'] !== 'string' || !isObject(item['frontmatter']))
    throw wrong('a skill without an address or front matter');
  const { uri, frontmatter, resources } = item;
  if (resources === 'dynamic') return { ...item, uri, frontmatter, resources };
  if (!Array.isArray(resources) || resources.length > MAX_FILES || !resources.every(isFile))
    throw wrong(`the skill ${uri} with files that are not described, or over ${MAX_FILES} of them`);
  if (resources.reduce((sum, { size }) => sum + size, 0) > MAX_BYTES)
    throw wrong(`the skill ${uri} with over ${MAX_BYTES} bytes`);
  return { ...item, uri, frontmatter, resources };
}

function isFile(file: unknown): file is SkillFile {
  return (
    isObject(file) &&
    typeof file['uri'] === 'string' &&
    typeof file['digest'] === 'string' &&
    /^sha256:[0-9a-f]{64}$/.test(file['digest']) &&
    Number.isSafeInteger(file['size']) &&
    (file['size'] as number) >= 0
  );
}

function wrong(what: string, cause?: unknown): ToolcribError {
  return new ToolcribError('invalid_answer', `The server sent ${what}.`, { cause });
}
