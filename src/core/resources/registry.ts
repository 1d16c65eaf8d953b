import { ToolcribError } from '../../base/errors.ts';
import type { Resource, ResourceTemplate } from './resource.ts';
import type { FoundResource, SkillFace } from '../source.ts';
import type { ServedSkill } from './skill.ts';

const NONE: FoundResource['variables'] = Object.freeze({});

/** Holds the resources and templates that applications may read; tells its owner of every change. */
export class ResourceRegistry {
  readonly #onChange: () => void;
  readonly #resources = new Map<string, Resource>();
  readonly #templates = new Map<string, ResourceTemplate>();
  readonly #skills = new Map<string, ServedSkill>();
  /** The files of all skills, by address; one may belong to a skill and to the one around it. */
  readonly #files = new Map<string, Resource>();
  #listed: readonly Resource[] | undefined;
  #listedTemplates: readonly ResourceTemplate[] | undefined;
  #listedSkills: readonly ServedSkill[] | undefined;
  readonly #skillFace: SkillFace = {
    list: () => (this.#listedSkills ??= sorted(this.#skills)),
  };

  constructor(onChange: () => void = () => {}) {
    this.#onChange = onChange;
  }

  /** Adds resources and templates; refuses an address that is taken. */
  register(...targets: readonly (Resource | ResourceTemplate)[]): this {
    for (const target of targets) {
      if ('uri' in target && this.#files.has(target.uri)) throw taken(target.uri);
      if ('uriTemplate' in target) add(this.#templates, target.uriTemplate, target);
      else add(this.#resources, target.uri, target);
      this.#changed();
    }
    return this;
  }

  /** Takes away what has this URI or URI template; says whether it was there. */
  remove(uri: string): boolean {
    if (!this.#resources.delete(uri) && !this.#templates.delete(uri)) return false;
    this.#changed();
    return true;
  }

  /** Adds skills: their files can be read, and each SKILL.md is listed; refuses an address that is taken. */
  registerSkill(...skills: readonly ServedSkill[]): this {
    for (const skill of skills) {
      const clash = skill.files.find((file) => !this.#hasRoomFor(file));
      if (clash) throw taken(clash.uri);
      add(this.#skills, skill.uri, skill);
      for (const file of skill.files) this.#files.set(file.uri, file);
      this.#changed();
    }
    return this;
  }

  /** Takes the skill with this SKILL.md away; says whether it was there. */
  removeSkill(uri: string): boolean {
    if (!this.#skills.delete(uri)) return false;
    this.#files.clear();
    for (const { files } of this.#skills.values()) for (const file of files) this.#files.set(file.uri, file);
    this.#changed();
    return true;
  }

  /** The skills, while there are any. */
  get skills(): SkillFace | undefined {
    return this.#skills.size > 0 ? this.#skillFace : undefined;
  }

  /** All resources in the order of their URIs: the same frozen array until something changes. */
  list(): readonly Resource[] {
    const mains = Array.from(this.#skills, ([uri, { files }]) => [uri, files[0]!] as const);
    this.#listed ??= sorted(new Map([...this.#resources, ...mains]));
    return this.#listed;
  }

  /** All templates in the order of their URI templates: the same frozen array until something changes. */
  templates(): readonly ResourceTemplate[] {
    this.#listedTemplates ??= sorted(this.#templates);
    return this.#listedTemplates;
  }

  /** The resource with exactly this URI, else the first template, as registered, that it fits. */
  find(uri: string): FoundResource | undefined {
    const resource = this.#resources.get(uri) ?? this.#skills.get(uri)?.files[0] ?? this.#files.get(uri);
    if (resource) return { resource, variables: NONE };
    for (const template of this.#templates.values()) {
      const variables = template.template.match(uri);
      if (variables) return { resource: template, variables };
    }
    return undefined;
  }

  /** How many resources and templates there are, skills included. */
  get size(): number {
    return this.#resources.size + this.#templates.size + this.#skills.size;
  }

  // A skill inside another one has its files in common with it.
  #hasRoomFor({ uri, skillFile }: Resource): boolean {
    const known = this.#files.get(uri);
    return !this.#resources.has(uri) && (!known || known.skillFile?.digest === skillFile?.digest);
  }

  #changed(): void {
    this.#listed = undefined;
    this.#listedTemplates = undefined;
    this.#listedSkills = undefined;
    this.#onChange();
  }
}

function add<T>(known: Map<string, T>, address: string, target: T): void {
  if (known.has(address)) throw taken(address);
  known.set(address, target);
}

function taken(address: string): ToolcribError {
  return new ToolcribError(
    'invalid_tool',
    `A resource at "${address}" is registered already; give this one another address or remove() the other first.`,
  );
}

function sorted<T>(known: ReadonlyMap<string, T>): readonly T[] {
  return Object.freeze([...known].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, target]) => target));
}
