import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { NamedPlace } from '../tool-names.ts';
import type { Resource } from './resource.ts';

/** The extension by which servers offer skills. */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills';

// How a folder inside a folder is listed.
const DIRECTORY_TYPE = 'inode/directory';
const MAX_SHOWN = 100;

/** The most a skill may have: files, bytes of all of them, and bytes of its front matter. */
export const skillLimits = { files: 512, bytes: 16_777_216, frontMatterBytes: 65_536 };

/** Instructions for a model with the files that belong to them, offered as resources. */
export interface ServedSkill {
  /** The address of its SKILL.md. */
  readonly uri: string;
  /** The front matter of its SKILL.md, as it is there. */
  readonly frontmatter: Readonly<Record<string, unknown>>;
  /** All its files, each with its size and digest, SKILL.md first; SKILL.md alone of a dynamic one. */
  readonly files: readonly Resource[];
  /** Its files cannot be known before they are read. */
  readonly isDynamic?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
  /** Where it comes from, in merged sources: the label of its source, and its address there. */
  readonly place?: NamedPlace;
  /** The account that sees it, where a server has several; pins are kept for each. */
  readonly account?: string;
  /** Listed fields that this version does not know, kept as they came. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
}

/** A skill as `skills/list` shows it. */
export function describeSkill(skill: ServedSkill): Record<string, unknown> {
  const { uri, frontmatter, files, isDynamic, _meta, extraFields } = skill;
  const resources = isDynamic
    ? 'dynamic'
    : files.map((file) => ({ uri: file.uri, digest: file.skillFile?.digest, size: file.size }));
  return { ...extraFields, uri, frontmatter, resources, ...(_meta && { _meta }) };
}

/** The folder of a skill: its address without SKILL.md. */
export function skillRoot({ uri }: Pick<ServedSkill, 'uri'>): string {
  return uri.slice(0, -MAIN_FILE.length - 1);
}

/** What is directly in a folder of some skills; `undefined` where there is no such folder. */
export function directoryIn(skills: readonly ServedSkill[], uri: string): readonly Resource[] | undefined {
  const folder = uri.endsWith('/') ? uri.slice(0, -1) : uri;
  const children = new Map<string, Resource>();
  for (const skill of skills) {
    const root = skillRoot(skill);
    if (folder !== root && !folder.startsWith(`${root}/`)) continue;
    for (const file of skill.files) {
      if (!file.uri.startsWith(`${folder}/`)) continue;
      const [name = '', ...below] = file.uri.slice(folder.length + 1).split('/');
      const child = `${folder}/${name}`;
      if (below.length === 0) children.set(child, file);
      else if (!children.has(child)) children.set(child, directory(child, name));
    }
  }
  if (children.size === 0) return undefined;
  return [...children.values()].toSorted((a, b) => (a.uri < b.uri ? -1 : 1));
}

/** Why an address or its front matter cannot be that of a skill; `undefined` if they can. */
function skillFlaw(uri: string, frontmatter: Readonly<Record<string, unknown>>): string | undefined {
  const { name, description } = frontmatter;
  if (!uri.endsWith(`/${MAIN_FILE}`) || flawedAddress(uri))
    return `its address is not that of a ${MAIN_FILE}`;
  if (!isSkillName(name)) return 'its name is not one of a skill';
  if (uri.split('/').at(-2) !== name) return 'its name is not that of its folder';
  if (typeof description !== 'string' || description.trim() === '') return 'it has no description';
  return undefined;
}

/** A file of a skill as `skills/list` shows it. */
export interface ListedFile {
  readonly uri: string;
  /** `sha256:` and 64 hex digits. */
  readonly digest: string;
  readonly size: number;
}

/** A skill as another server lists it, with members this version does not know. */
export interface ListedSkill {
  readonly uri: string;
  readonly frontmatter: Readonly<Record<string, unknown>>;
  readonly resources: readonly ListedFile[] | 'dynamic';
  readonly [field: string]: unknown;
}

/** What another server lists as a skill, or why it is none. */
export function readListedSkill(entry: unknown): ListedSkill | string {
  if (!isObject(entry) || typeof entry['uri'] !== 'string' || !isObject(entry['frontmatter']))
    return 'it has no address or no front matter';
  const { uri, frontmatter, resources } = entry;
  const flaw = skillFlaw(uri, frontmatter) ?? filesFlaw(uri, resources);
  if (flaw !== undefined) return flaw;
  if (JSON.stringify(frontmatter).length > skillLimits.frontMatterBytes)
    return 'its front matter is too large';
  return entry as unknown as ListedSkill;
}

/** The address of something that is listed as a skill, for messages. */
export function shownSkill(entry: unknown): string {
  const uri = isObject(entry) ? entry['uri'] : undefined;
  return JSON.stringify(typeof uri === 'string' ? uri.slice(0, MAX_SHOWN) : '');
}

function filesFlaw(uri: string, files: unknown): string | undefined {
  if (files === 'dynamic') return undefined;
  if (!Array.isArray(files) || !files.every(isListedFile)) return 'its files are not described';
  if (files.length > skillLimits.files) return `it has more than ${skillLimits.files} files`;
  if (files.reduce((sum, { size }) => sum + size, 0) > skillLimits.bytes)
    return `it has more than ${skillLimits.bytes} bytes`;
  const addresses = new Set(files.map((file) => file.uri));
  if (addresses.size < files.length) return 'it lists a file twice';
  if (!addresses.has(uri)) return `it does not list its ${MAIN_FILE}`;
  const root = skillRoot({ uri });
  return files.every((file) => isFileBelow(root, file.uri))
    ? undefined
    : 'it lists a file that is not below it';
}

/** Whether an address is one of a file below a folder, without a way out of it. */
export function isFileBelow(root: string, uri: string): boolean {
  return uri.startsWith(`${root}/`) && !flawedAddress(uri);
}

/**
 * Whether an address that follows a template may lead to a file of some skills: it has spellings that only its server
 * knows, so whatever has the scheme of one of them may.
 */
export function mayReach(skills: readonly Pick<ServedSkill, 'uri'>[], uri: string): boolean {
  return skills.some((skill) => schemeOf(skill.uri) === schemeOf(uri));
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(':')).toLowerCase();
}

/** The file every skill has. */
export const MAIN_FILE = 'SKILL.md';

/** Whether a skill may be called so: 1 to 64 small letters and digits, with single hyphens between them. */
export function isSkillName(name: unknown): name is string {
  return typeof name === 'string' && /^[a-z0-9-]{1,64}$/.test(name) && !/^-|--|-$/.test(name);
}

/** The answer for a skill that does not exist, and equally for one the caller may not see. */
export function skillNotFound(uri: string): ToolcribError {
  return new ToolcribError('unknown_resource', `Unknown skill: ${uri}`, { data: { uri } });
}

function isListedFile(file: unknown): file is ListedFile {
  return (
    isObject(file) &&
    typeof file['uri'] === 'string' &&
    typeof file['digest'] === 'string' &&
    /^sha256:[0-9a-f]{64}$/.test(file['digest']) &&
    Number.isSafeInteger(file['size']) &&
    (file['size'] as number) >= 0
  );
}

function directory(uri: string, name: string): Resource {
  const read = (): never => {
    throw new ToolcribError('unknown_resource', `${uri} is a folder: use resources/directory/read.`);
  };
  return { uri, name: decoded(name), mimeType: DIRECTORY_TYPE, read };
}

// Segments are looked at as they are and decoded: servers and file systems read them in either way.
function flawedAddress(uri: string): boolean {
  if (!/^[A-Za-z][A-Za-z\d+.-]*:\/\/[^\s?#\\{}\p{Cc}]+$/u.test(uri)) return true;
  const path = uri.slice(uri.indexOf('://') + 3).replace(/^\//, '');
  return path.split('/').some((segment) => {
    const name = decoded(segment);
    return name === '' || name === '.' || name === '..' || /[/\\\p{Cc}]/u.test(name);
  });
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
