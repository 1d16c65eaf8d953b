import { createHash } from 'node:crypto';
import { basename, extname, join, resolve } from 'node:path';
import { aboutFile, type Complaint } from '../config/complaint.ts';
import type { Resource } from '../core/resources/resource.ts';
import { MAIN_FILE, skillLimits, type ServedSkill } from '../core/resources/skill.ts';
import { checkMainFile, utf8TextOf } from './check-main-file.ts';
import { readTreeFile, readErrorOf, treeOf, type TreeFile } from './tree.ts';

/** What was found in a folder of skills. */
export interface SkillsReading {
  readonly skills: readonly ServedSkill[];
  readonly complaints: readonly Complaint[];
  /** The addresses of skills that are there and cannot be used. */
  readonly broken: readonly string[];
}

/** How skills are read. */
export interface ReadSkillsOptions {
  /** What stands in front of the folders in addresses, such as `acme/billing`. */
  readonly path?: string;
}

/**
 * Reads and hashes the skills of a folder: each folder in it that has a SKILL.md, however deep, or the folder itself
 * where it has one.
 */
export async function readSkills(
  folder: string,
  { path = '' }: ReadSkillsOptions = {},
): Promise<SkillsReading> {
  const top = resolve(folder);
  let tree: readonly TreeFile[];
  try {
    tree = await treeOf(top);
  } catch (error) {
    const message =
      error instanceof RangeError ? error.message : `The folder cannot be read (${readErrorOf(error)})`;
    return { skills: [], complaints: [aboutFile(top, { message })], broken: [] };
  }
  const isOne = tree.some((file) => file.path === MAIN_FILE);
  const prefix = [...path.split('/'), ...(isOne ? [basename(top)] : [])].filter(Boolean);
  return new FolderReading(top, tree, prefix).read();
}

/** One reading of one folder. */
class FolderReading {
  readonly #top: string;
  readonly #tree: readonly TreeFile[];
  readonly #prefix: readonly string[];
  readonly #complaints: Complaint[] = [];
  readonly #broken: string[] = [];
  // A file of a skill inside another one is a file of both.
  readonly #read = new Map<string, Promise<Buffer>>();

  constructor(top: string, tree: readonly TreeFile[], prefix: readonly string[]) {
    this.#top = top;
    this.#tree = tree;
    this.#prefix = prefix;
  }

  async read(): Promise<SkillsReading> {
    const mains = this.#tree.filter(({ path }) => path === MAIN_FILE || path.endsWith(`/${MAIN_FILE}`));
    const skills: ServedSkill[] = [];
    for (const main of mains) {
      const skill = await this.#skill(main);
      if (skill) skills.push(skill);
      else this.#broken.push(this.#uriOf(main));
    }
    this.#noteStrays(mains);
    if (mains.length === 0) {
      const message = `There is no folder with a ${MAIN_FILE} in it`;
      this.#complaints.push(aboutFile(this.#top, { message, severity: 'warning' }));
    }
    return { skills, complaints: this.#complaints, broken: this.#broken };
  }

  // Such as a skill that is a link to a folder elsewhere, which would be missed without a word.
  #noteStrays(mains: readonly TreeFile[]): void {
    const roots = mains.map(({ path }) => path.slice(0, -MAIN_FILE.length));
    for (const { path, flaw } of this.#tree) {
      if (flaw === undefined || roots.some((root) => path.startsWith(root))) continue;
      const file = join(this.#top, ...path.split('/'));
      this.#complaints.push(
        aboutFile(file, { message: flaw, remedy: 'put a copy there', severity: 'warning' }),
      );
    }
  }

  async #skill(main: TreeFile): Promise<ServedSkill | undefined> {
    const root = main.path.slice(0, -MAIN_FILE.length);
    const rest = this.#tree.filter((file) => file !== main && file.path.startsWith(root));
    const files = [main, ...rest];
    if (!this.#isWithinLimits(main, files)) return undefined;
    let bytes: readonly Buffer[];
    try {
      bytes = await Promise.all(files.map((file) => this.#bytesOf(file)));
    } catch (error) {
      return this.#refuse(main, `has a file that cannot be read (${readErrorOf(error)})`);
    }
    const folder = [...this.#prefix, ...main.path.split('/')].at(-2) ?? '';
    const { frontmatter, complaints } = checkMainFile(bytes[0]!, this.#nameOf(main), folder);
    this.#complaints.push(...complaints);
    if (!frontmatter) return undefined;
    const resources = files.map((file, at) =>
      resourceOf(file.path.slice(root.length), this.#uriOf(file), bytes[at]!),
    );
    const { name, description } = frontmatter as { name: string; description: string };
    const first = { ...resources[0]!, name, description };
    return Object.freeze({
      uri: first.uri,
      frontmatter,
      files: Object.freeze([first, ...resources.slice(1)]),
    });
  }

  #isWithinLimits(main: TreeFile, files: readonly TreeFile[]): boolean {
    const flawed = files.filter(({ flaw }) => flaw !== undefined);
    for (const file of flawed) this.#refuse(file, file.flaw!, 'put a copy there, or leave it out');
    if (flawed.length > 0) return false;
    if (files.length > skillLimits.files)
      this.#refuse(main, `belongs to a skill of ${files.length} files`, `keep at most ${skillLimits.files}`);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (bytes > skillLimits.bytes)
      this.#refuse(main, `belongs to a skill of ${bytes} bytes`, `keep at most ${skillLimits.bytes}`);
    return files.length <= skillLimits.files && bytes <= skillLimits.bytes;
  }

  #bytesOf(file: TreeFile): Promise<Buffer> {
    let read = this.#read.get(file.path);
    if (!read) this.#read.set(file.path, (read = readTreeFile(file)));
    return read;
  }

  #refuse(file: TreeFile, message: string, remedy = ''): undefined {
    this.#complaints.push(aboutFile(this.#nameOf(file), { message, remedy }));
  }

  #nameOf({ path }: TreeFile): string {
    return join(this.#top, ...path.split('/'));
  }

  #uriOf({ path }: TreeFile): string {
    return `skill://${[...this.#prefix, ...path.split('/')].map(encodeURIComponent).join('/')}`;
  }
}

function resourceOf(name: string, uri: string, bytes: Buffer): Resource {
  const text = utf8TextOf(bytes);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const mimeType =
    TYPES[extname(name).toLowerCase()] ?? (text === undefined ? 'application/octet-stream' : 'text/plain');
  return { uri, name, mimeType, size: bytes.length, skillFile: { digest }, read: () => text ?? bytes };
}

const TYPES: Readonly<Record<string, string>> = {
  '.md': 'text/markdown',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.py': 'text/x-python',
  '.sh': 'application/x-sh',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
};
