import { createHash } from 'node:crypto';
import { canonicalJson } from '../base/canonical-json.ts';
import { ToolcribError } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { readListedSkill, shownSkill, type ListedFile } from '../core/resources/skill.ts';
import type { JsonObject } from '../protocol/wire/json-rpc.ts';
import type { Client } from './client.ts';

/** One file of a skill. */
export type SkillFile = ListedFile;

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
const MAX_WARNINGS = 20;

/** What can be told while skills are listed. */
export interface ListSkillsOptions {
  /** Told of each skill that is left out, and why. */
  readonly onWarning?: (text: string) => void;
}

/** The skills a server lists; nothing of them is read yet. One that breaks the rules is left out, with a warning. */
export async function listSkills(
  client: Reader,
  { onWarning }: ListSkillsOptions = {},
): Promise<readonly Skill[]> {
  const leaveOut = warner(onWarning);
  const skills = new Map<string, Skill>();
  const repeated = new Set<string>();
  for await (const entry of skillEntries(client)) {
    const skill = readListedSkill(entry);
    if (typeof skill === 'string') {
      leaveOut(entry, skill);
      continue;
    }
    if (skills.has(skill.uri)) repeated.add(skill.uri);
    skills.set(skill.uri, skill);
  }
  // Which of them is meant cannot be known.
  for (const uri of repeated) {
    skills.delete(uri);
    leaveOut({ uri }, 'it is listed twice');
  }
  return [...skills.values()];
}

function warner(onWarning: ListSkillsOptions['onWarning']): (entry: unknown, flaw: string) => void {
  let count = 0;
  return (entry, flaw) => {
    if (++count <= MAX_WARNINGS) onWarning?.(`The skill ${shownSkill(entry)} is left out: ${flaw}.`);
    else if (count === MAX_WARNINGS + 1) onWarning?.('More skills are left out for such reasons.');
  };
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
  const text = textOf(bytes);
  const written = await frontMatterOf(text);
  if (canonicalJson(written) !== canonicalJson(skill.frontmatter))
    throw wrong(`the skill ${skill.uri} with other front matter than it lists`);
  return { ...skill, text, readFile: (uri) => readChecked(client, skill, uri) };
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw wrong('a SKILL.md that is not UTF-8', cause);
  }
}

async function frontMatterOf(text: string): Promise<JsonObject> {
  // With the first skill: a program without skills need not load what reads YAML.
  const { parseFrontMatter } = await import('../config/front-matter.ts');
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

/** The bytes of the single file of a read; `undefined` if it is not one file. */
export function fileBytes(read: unknown): Uint8Array | undefined {
  const contents = isObject(read) && Array.isArray(read['contents']) ? (read['contents'] as unknown[]) : [];
  const [only] = contents;
  if (contents.length !== 1 || !isObject(only)) return undefined;
  if (typeof only['text'] === 'string') return Buffer.from(only['text'], 'utf8');
  return typeof only['blob'] === 'string' ? Buffer.from(only['blob'], 'base64') : undefined;
}

function wrong(what: string, cause?: unknown): ToolcribError {
  return new ToolcribError('invalid_answer', `The server sent ${what}.`, { cause });
}
