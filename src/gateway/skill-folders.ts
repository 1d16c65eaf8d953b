import { resolve } from 'node:path';
import { systemClock, type Clock } from '../base/clock.ts';
import { digest } from '../base/digest.ts';
import { ToolcribError } from '../base/errors.ts';
import { aboutFile, formatComplaint, type Complaint } from '../config/complaint.ts';
import type { ToolRegistry } from '../core/registry.ts';
import { describeSkill, type ServedSkill } from '../core/resources/skill.ts';
import type { Log } from '../observe/log.ts';
import { readSkills } from '../skills/read-skills.ts';

/** What the skills of a configuration are made with. */
export interface SkillFoldersOptions {
  readonly folders: readonly string[];
  /** What the folders are relative to. */
  readonly baseDir: string;
  /** Where the skills are registered. */
  readonly registry: ToolRegistry;
  /** Whether folders are read again when something in them changes. */
  readonly watch: boolean;
  readonly log: Log;
  readonly clock?: Clock;
  /** The previous instance: a skill that is broken now stays as it was there. */
  readonly before?: SkillFolders | undefined;
}

/** The skills of some folders, in a registry. */
export interface SkillFolders {
  /** The problems of the skills on the disk. */
  readonly complaints: readonly Complaint[];
  readonly skills: ReadonlyMap<string, ServedSkill>;
  /** Stops watching; the skills stay. */
  close(): Promise<void>;
}

/** Registers the skills of folders, and keeps them as they are on the disk. */
export async function createSkillFolders({ before, ...options }: SkillFoldersOptions): Promise<SkillFolders> {
  const folders = new Folders(options, before?.skills ?? new Map<string, ServedSkill>());
  try {
    await folders.start();
    return folders;
  } catch (error) {
    await folders.close();
    throw error;
  }
}

const QUIET_MS = 100;
const LOOK_MS = 1_000;

class Folders implements SkillFolders {
  readonly #options: Omit<SkillFoldersOptions, 'before'>;
  readonly #clock: Clock;
  readonly #paths: readonly string[];
  #lastGood: ReadonlyMap<string, ServedSkill>;
  #skills: ReadonlyMap<string, ServedSkill> = new Map();
  #unwatch: (() => Promise<void>) | undefined;
  #cancelReload: (() => void) | undefined;
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;
  complaints: readonly Complaint[] = [];

  constructor(options: Omit<SkillFoldersOptions, 'before'>, lastGood: ReadonlyMap<string, ServedSkill>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#paths = options.folders.map((folder) => resolve(options.baseDir, folder));
    this.#lastGood = lastGood;
  }

  get skills(): ReadonlyMap<string, ServedSkill> {
    return this.#skills;
  }

  async start(): Promise<void> {
    // First, so that no change is missed between reading and watching.
    if (this.#options.watch) await this.#watch();
    await this.#inTurn(() => this.#read());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelReload?.();
    await this.#unwatch?.();
    await this.#work;
  }

  async #watch(): Promise<void> {
    const { WatchedFolder } = await import('./modules/watched-folder.ts');
    const isHidden = (path: string): boolean => /[\\/]\.[^\\/]*$/.test(path);
    const listener = {
      onChange: () => this.#note(),
      onFolder: () => this.#note(),
      onError: (error: unknown) => this.#options.log('warn', 'The skills cannot be watched.', { error }),
      isWatched: (path: string) => !isHidden(path),
    };
    const watched = this.#paths.map((folder) => {
      const ignored = (path: string): boolean => path !== folder && isHidden(path);
      return new WatchedFolder(folder, { ignored }, listener);
    });
    await Promise.all(watched.map((folder) => folder.start()));
    const timer = setInterval(() => watched.forEach((folder) => void folder.look()), LOOK_MS).unref();
    this.#unwatch = async () => {
      clearInterval(timer);
      await Promise.all(watched.map((folder) => folder.close()));
    };
  }

  #note(): void {
    this.#cancelReload?.();
    // Editors write a file in several steps.
    if (!this.#isClosed)
      this.#cancelReload = this.#clock.after(QUIET_MS, () => void this.#inTurn(() => this.#read()));
  }

  async #read(): Promise<void> {
    const readings = await Promise.all(this.#paths.map((folder) => readSkills(folder)));
    if (this.#isClosed) return;
    const complaints = readings.flatMap((reading) => reading.complaints);
    const kept = readings.flatMap(({ broken }) => broken.flatMap((uri) => this.#lastGood.get(uri) ?? []));
    const all = [...kept, ...readings.flatMap(({ skills }) => skills.map((skill) => this.#same(skill)))];
    this.#report([...complaints, ...this.#put(all)]);
  }

  // Unchanged skills stay the same objects, so that no change is announced.
  #same(skill: ServedSkill): ServedSkill {
    const known = this.#lastGood.get(skill.uri);
    return known && digest(describeSkill(known)) === digest(describeSkill(skill)) ? known : skill;
  }

  // Skills with the same address from two folders, or that differ inside and around another skill, are left out.
  #put(all: readonly ServedSkill[]): readonly Complaint[] {
    const { registry } = this.#options;
    const before = this.#skills;
    const wanted = new Set(all);
    const next = new Map<string, ServedSkill>();
    const complaints: Complaint[] = [];
    for (const [uri, skill] of before) if (!wanted.has(skill)) registry.removeSkill(uri);
    for (const skill of all) {
      try {
        if (before.get(skill.uri) !== skill) registry.registerSkill(skill);
        next.set(skill.uri, skill);
      } catch (error) {
        if (!(error instanceof ToolcribError)) throw error;
        const message = 'Another skill or resource has the address of one of its files';
        complaints.push(aboutFile(skill.uri, { message, remedy: 'rename the folder of one of them' }));
      }
    }
    this.#skills = next;
    this.#lastGood = next;
    const digests = digestsIn(next);
    for (const [uri, digestBefore] of digestsIn(before))
      if (digests.has(uri) && digests.get(uri) !== digestBefore) registry.resourceUpdated(uri);
    return complaints;
  }

  #report(complaints: readonly Complaint[]): void {
    const known = new Set(this.complaints.map(formatComplaint));
    this.complaints = complaints;
    for (const complaint of complaints) {
      const text = formatComplaint(complaint);
      if (!known.has(text)) this.#options.log(complaint.severity === 'error' ? 'error' : 'warn', text);
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#work.then(work);
    // A failure belongs to the caller of this work, not to the next one.
    this.#work = next.catch((error: unknown) =>
      this.#options.log('error', 'The skills could not be read again.', { error }),
    );
    return next;
  }
}

function digestsIn(skills: ReadonlyMap<string, ServedSkill>): ReadonlyMap<string, string | undefined> {
  const files = [...skills.values()].flatMap((skill) => skill.files);
  return new Map(files.map((file) => [file.uri, file.skillFile?.digest]));
}
