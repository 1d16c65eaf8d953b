import type { Client } from '../../client/client.ts';
import { nothing, type Awaitable } from '../../base/awaitable.ts';
import type { Clock } from '../../base/clock.ts';
import { digest } from '../../base/digest.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { endsWithin } from '../../base/within.ts';
import { changeBetween } from '../../core/change-between.ts';
import { definitionDigest, readingDigest } from '../../core/definition-digest.ts';
import { localCaller } from '../../core/caller.ts';
import type { Readable } from '../../core/expose-readings.ts';
import type { Prompt } from '../../core/prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../../core/resources/resource.ts';
import { describeSkill, SKILLS_EXTENSION, type ServedSkill } from '../../core/resources/skill.ts';
import type { Change } from '../../core/source.ts';
import type { Tool } from '../../core/tool.ts';
import { checkSchema } from '../../schema/check.ts';
import { requireObjectRoot } from '../../schema/schema.ts';
import type { PooledConnection } from './pool.ts';
import { readUpstreamSkills } from './skills.ts';

/** The lists of an upstream, as it sent them. */
export interface UpstreamLists {
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly skills: readonly ServedSkill[];
}

/** The parts that a catalog needs. */
export interface CatalogParts {
  readonly connection: () => PooledConnection;
  readonly clock: Clock;
  readonly relistMs: () => number;
  readonly firstListMs: () => number;
  /** How long a call may take: nobody waits longer for what is about to be used. */
  readonly callMs: () => number;
  /** Takes what is invisible, and secrets, out of what is listed; `undefined` for what cannot be shown then. */
  clean<T extends Readable>(item: T): T | undefined;
  /** Whether nothing would be taken out of a value. */
  isClean(value: unknown): boolean;
  onChange(change: Change): void;
  /** Told after each attempt to fetch the lists. */
  onListed(): void;
  onWarning(text: string): void;
}

// How many entries of one kind an upstream may list.
const MAX_ENTRIES = 2_000;
// An upstream that never stops changing is read less often.
const QUICK_ROUNDS = 3;
const PAUSE_MS = 200;
const NOTHING: UpstreamLists = Object.freeze({
  tools: Object.freeze([]),
  prompts: Object.freeze([]),
  resources: Object.freeze([]),
  templates: Object.freeze([]),
  skills: Object.freeze([]),
});

/** The lists of an upstream for one account: kept while it is down, fetched again when they may have changed. */
export class Catalog {
  readonly #parts: CatalogParts;
  #lists = NOTHING;
  #listedAt: number | undefined;
  #triedAt: number | undefined;
  #loading: Promise<void> | undefined;
  /** How many changes the upstream announced, and how many of these the lists have taken up. */
  #changes = 0;
  #read = 0;
  /** Since when it is being waited for that they are read again. */
  #outdatedAt: number | undefined;
  #reading: Promise<void> | undefined;
  readonly #warned = new Set<string>();
  /** Whether the upstream keeps a session with each of its clients. */
  era: 'modern' | 'legacy' | undefined;
  /** When the lists were fetched last, in milliseconds since 1970. */
  lastListed: number | undefined;
  /** Why the lists could not be fetched the last time. */
  failure: unknown;

  constructor(parts: CatalogParts) {
    this.#parts = parts;
  }

  /** The lists as they were fetched last. */
  get lists(): UpstreamLists {
    return this.#lists;
  }

  /** Whether the lists may be wrong, because the last attempt to fetch them failed. */
  get isDegraded(): boolean {
    return this.failure !== undefined;
  }

  /** Whether the lists were fetched after the last announced change. */
  get isCurrent(): boolean {
    return this.#read === this.#changes;
  }

  /** Whether the upstream was ever listed. */
  get isListed(): boolean {
    return this.#listedAt !== undefined;
  }

  /** The lists. Only the first time they are waited for; later, old ones are fetched again in the background. */
  known(): Awaitable<UpstreamLists> {
    // Only the first attempt is waited for; an upstream that is down, or never done changing, delays nobody's lists.
    if (this.#listedAt === undefined && !this.isDegraded) {
      const reading = this.#nextRead();
      return this.#wait(reading, this.#restMs(this.#triedAt));
    }
    if (this.#isOld() || this.#mayRetry()) void this.#load();
    return this.#lists;
  }

  /**
   * What is known, and read since the upstream last changed, or may have: for what is about to be used. All who come
   * wait together, so that one that hangs does not keep each of them waiting anew.
   */
  current(): Awaitable<UpstreamLists> {
    const due = this.#due();
    return due ? this.#wait(due.reading, this.#restMs(due.since, this.#parts.callMs())) : this.known();
  }

  /** The same for a call that is about to be sent: fails where they are not read in that time. */
  async currentWithin(ms: number): Promise<UpstreamLists> {
    const due = this.#due();
    if (!due || (await endsWithin(ms, due.reading))) return this.#lists;
    throw new ToolcribError('timed_out', 'Its lists could not be fetched again in time.');
  }

  /** Notes a change: from now on `current` waits for new lists. */
  outdate(): void {
    if (this.isCurrent) this.#outdatedAt = this.#parts.clock.ticks();
    this.#changes++;
    if (this.#loading === undefined) void this.#load('upkeep');
  }

  /** Whether each of these tools has the same definition here, or is not listed here. */
  agreesWith(tools: readonly Tool[]): boolean {
    const known = new Map(this.#lists.tools.map((tool) => [tool.name, tool]));
    return tools.every((tool) => {
      const own = known.get(tool.name);
      return !own || definitionDigest(own) === definitionDigest(tool);
    });
  }

  /** Fetches the lists again where that is due. */
  sweep(): void {
    if (this.#isOld() && this.#parts.connection().client) void this.#load('upkeep');
  }

  // The reading that is waited for before the lists are used, and when it became due.
  #due(): { readonly reading: Promise<void>; readonly since: number | undefined } | undefined {
    if (this.#listedAt === undefined) return undefined;
    // One that is back may have come back as another.
    if (this.isDegraded && this.#mayRetry()) {
      const reading = this.#nextRead();
      return { reading, since: this.#triedAt };
    }
    if (this.isCurrent || this.isDegraded) return undefined;
    return { reading: this.#readSince(this.#changes), since: this.#outdatedAt };
  }

  #mayRetry(): boolean {
    return this.isDegraded && this.#parts.connection().pauseMs === 0;
  }

  #isOld(): boolean {
    const last = Math.max(this.#listedAt ?? -Infinity, this.#triedAt ?? -Infinity);
    return this.#parts.clock.ticks() - last >= this.#parts.relistMs();
  }

  // What is left of the time that lists are waited for, since then.
  #restMs(since: number | undefined, longestMs = Infinity): number {
    const { clock, firstListMs } = this.#parts;
    return Math.min(firstListMs(), longestMs) - (clock.ticks() - (since ?? clock.ticks()));
  }

  #wait(loading: Promise<void>, withinMs: number): Awaitable<UpstreamLists> {
    return withinMs > 0 ? endsWithin(withinMs, loading).then(() => this.#lists) : this.#lists;
  }

  #load(how: 'use' | 'upkeep' = 'use'): Promise<void> {
    return (this.#loading ??= this.#fetch(how).finally(() => (this.#loading = undefined)));
  }

  // Lists that were requested after this change are enough, however many changes follow.
  async #readSince(changes: number): Promise<void> {
    while (this.#read < changes && !this.isDegraded) await this.#nextRead();
  }

  // Ends with the next fetch and not with the whole load, which may never end. Failures are in `failure`.
  #nextRead(): Promise<void> {
    const loading = this.#load();
    return (this.#reading ?? loading).catch(nothing);
  }

  async #fetch(how: 'use' | 'upkeep'): Promise<void> {
    const { clock } = this.#parts;
    try {
      for (let round = 1; ; round++) {
        this.#triedAt = clock.ticks();
        await (this.#reading = this.#readOnce(how));
        // Another change may have been announced meanwhile.
        if (this.#read === this.#changes) break;
        if (round >= QUICK_ROUNDS) await (this.#reading = pause(clock));
      }
    } catch (error) {
      this.failure = error;
      // The old lists are served again: there is nothing better.
      this.#read = this.#changes;
    }
    this.#reading = undefined;
    this.#parts.onListed();
  }

  async #readOnce(how: 'use' | 'upkeep'): Promise<void> {
    let changes = 0;
    await this.#parts.connection()[how]((client) => {
      // Read after connecting, because a new connection counts as a change.
      changes = this.#changes;
      return this.#take(client);
    });
    this.#read = changes;
    this.#outdatedAt = this.#parts.clock.ticks();
    this.failure = undefined;
    this.#listedAt = this.#parts.clock.ticks();
    this.lastListed = this.#parts.clock.now();
  }

  async #take(client: Client): Promise<void> {
    this.era = client.server.era;
    client.refresh();
    const { resources, prompts } = client;
    const tools = await toolsOf(client);
    const [listedPrompts, listed, templates] = await Promise.all([
      prompts ? this.#orNone('prompts', prompts.list(localCaller)) : NOTHING.prompts,
      resources ? this.#orNone('resources', resources.list(localCaller)) : NOTHING.resources,
      resources ? this.#orNone('resource templates', resources.templates(localCaller)) : NOTHING.templates,
    ]);
    const readable = this.#readable('resources', listed);
    const skills = hasSkills(client) ? await this.#orNone('skills', this.#skills(client, readable)) : [];
    this.#put({
      tools: this.#usable(tools),
      prompts: this.#readable('prompts', listedPrompts),
      resources: withSkillFiles(readable, skills),
      templates: this.#readable('resource templates', templates),
      skills,
    });
  }

  #skills(client: Client, resources: readonly Resource[]): Promise<readonly ServedSkill[]> {
    return readUpstreamSkills(client, {
      listed: new Map(resources.map((resource) => [resource.uri, resource])),
      isClean: (value) => this.#parts.isClean(value),
      onWarning: (text) => this.#warn(text),
    });
  }

  // If prompts or resources cannot be listed, the tools are used all the same.
  async #orNone<T>(what: string, work: Awaitable<readonly T[]>): Promise<readonly T[]> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error;
      this.#warn(`Its ${what} could not be listed.`);
      return [];
    }
  }

  // Tools whose schemas cannot be checked safely are left out, because every call would check them.
  #usable(tools: readonly Tool[]): readonly Tool[] {
    return this.#capped('tools', tools).filter(({ name, inputSchema, outputSchema }) => {
      try {
        requireObjectRoot(inputSchema);
        checkSchema(inputSchema, 'input');
        if (outputSchema) checkSchema(outputSchema, 'output');
        return true;
      } catch (error) {
        if (!(error instanceof ToolcribError)) throw error;
        this.#warn(`The tool ${JSON.stringify(name.slice(0, 100))} is left out: ${error.message}`);
        return false;
      }
    });
  }

  // Tools are cleaned after all stages have seen them.
  #readable<T extends Readable>(what: string, items: readonly T[]): readonly T[] {
    return this.#capped(what, items).flatMap((item) => this.#parts.clean(item) ?? []);
  }

  #capped<T>(what: string, items: readonly T[]): readonly T[] {
    if (items.length <= MAX_ENTRIES) return items;
    this.#warn(`It lists ${items.length} ${what}; only the first ${MAX_ENTRIES} are used.`);
    return items.slice(0, MAX_ENTRIES);
  }

  #warn(text: string): void {
    if (this.#warned.has(text) || this.#warned.size >= MAX_ENTRIES) return;
    this.#warned.add(text);
    this.#parts.onWarning(text);
  }

  #put(next: UpstreamLists): void {
    const before = this.#lists;
    const tools = keepSame(before.tools, next.tools, (tool) => [tool.name, definitionDigest(tool)]);
    const prompts = keepSame(before.prompts, next.prompts, (one) => [one.name, readingDigest(one)]);
    const resources = keepSame(before.resources, next.resources, (one) => [
      one.uri,
      `${readingDigest(one)} ${one.skillFile?.digest}`,
    ]);
    const skills = keepSame(before.skills, next.skills, (one) => [one.uri, digest(describeSkill(one))]);
    const templates = keepSame(before.templates, next.templates, (one) => [
      one.uriTemplate,
      readingDigest(one),
    ]);
    const isSame = [tools, prompts, resources, templates, skills].every((list) =>
      Object.values(before).includes(list),
    );
    if (!isSame) this.#lists = { tools, prompts, resources, templates, skills };
    this.#listedAt ??= this.#parts.clock.ticks();
    if (tools !== before.tools) this.#parts.onChange(changeBetween(before.tools, tools, definitionDigest));
    if (prompts !== before.prompts) this.#parts.onChange({ kind: 'prompts' });
    if (resources !== before.resources || templates !== before.templates || skills !== before.skills)
      this.#parts.onChange({ kind: 'resources' });
  }
}

function hasSkills({ server: { capabilities } }: Client): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && isObject(extensions[SKILLS_EXTENSION]);
}

// A file of a skill replaces the listed resource at its address; a SKILL.md is added if it is not listed.
function withSkillFiles(resources: readonly Resource[], skills: readonly ServedSkill[]): readonly Resource[] {
  if (skills.length === 0) return resources;
  const files = new Map(skills.flatMap((skill) => skill.files.slice(1)).map((file) => [file.uri, file]));
  const mains = new Map(skills.map((skill) => [skill.uri, skill.files[0]!]));
  const others = resources.filter(({ uri }) => !mains.has(uri)).map((one) => files.get(one.uri) ?? one);
  return [...others, ...mains.values()];
}

/** The lists of a catalog; empty ones if there is no catalog. */
export function listsOf(catalog: Catalog | undefined, which: 'known' | 'current'): Awaitable<UpstreamLists> {
  return catalog?.[which]() ?? NOTHING;
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => void clock.after(PAUSE_MS, resolve));
}

// Unchanged entries stay the same objects, and an unchanged list the same array: views and pages are cached by them.
function keepSame<T>(
  before: readonly T[],
  next: readonly T[],
  markOf: (item: T) => [key: string, mark: string],
): readonly T[] {
  const known = new Map(
    before.map((item) => {
      const [key, mark] = markOf(item);
      return [key, { item, mark }];
    }),
  );
  const kept = next.map((item) => {
    const [key, mark] = markOf(item);
    const old = known.get(key);
    return old?.mark === mark ? old.item : item;
  });
  const isSame = kept.length === before.length && kept.every((item, index) => item === before[index]);
  return isSame ? before : Object.freeze(kept);
}

/** The tools that a server lists over a connection. */
export function toolsOf(client: Client): Awaitable<readonly Tool[]> {
  const { capabilities } = client.server;
  // It may offer no tools at all. With no capabilities it was not asked for them, so it may have tools.
  return 'tools' in capabilities || Object.keys(capabilities).length === 0 ? client.list() : [];
}
