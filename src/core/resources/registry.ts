import { ToolcribError } from '../../base/errors.ts';
import type { Resource, ResourceTemplate } from './resource.ts';
import type { FoundResource } from '../source.ts';

const NONE: FoundResource['variables'] = Object.freeze({});

/** Holds the resources and templates that applications may read; tells its owner of every change. */
export class ResourceRegistry {
  readonly #onChange: () => void;
  readonly #resources = new Map<string, Resource>();
  readonly #templates = new Map<string, ResourceTemplate>();
  #listed: readonly Resource[] | undefined;
  #listedTemplates: readonly ResourceTemplate[] | undefined;

  constructor(onChange: () => void = () => {}) {
    this.#onChange = onChange;
  }

  /** Adds resources and templates; refuses an address that is taken. */
  register(...targets: readonly (Resource | ResourceTemplate)[]): this {
    for (const target of targets) {
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

  /** All resources in the order of their URIs: the same frozen array until something changes. */
  list(): readonly Resource[] {
    this.#listed ??= sorted(this.#resources);
    return this.#listed;
  }

  /** All templates in the order of their URI templates: the same frozen array until something changes. */
  templates(): readonly ResourceTemplate[] {
    this.#listedTemplates ??= sorted(this.#templates);
    return this.#listedTemplates;
  }

  /** The resource with exactly this URI, else the first template, as registered, that it fits. */
  find(uri: string): FoundResource | undefined {
    const resource = this.#resources.get(uri);
    if (resource) return { resource, variables: NONE };
    for (const template of this.#templates.values()) {
      const variables = template.template.match(uri);
      if (variables) return { resource: template, variables };
    }
    return undefined;
  }

  /** The template with exactly this pattern, for completing its variables. */
  findTemplate(uriTemplate: string): ResourceTemplate | undefined {
    return this.#templates.get(uriTemplate);
  }

  /** How many resources and templates there are. */
  get size(): number {
    return this.#resources.size + this.#templates.size;
  }

  #changed(): void {
    this.#listed = undefined;
    this.#listedTemplates = undefined;
    this.#onChange();
  }
}

function add<T>(known: Map<string, T>, address: string, target: T): void {
  if (known.has(address)) {
    throw new ToolcribError(
      'invalid_tool',
      `A resource at "${address}" is registered already; give this one another address or remove() the other first.`,
    );
  }
  known.set(address, target);
}

function sorted<T>(known: ReadonlyMap<string, T>): readonly T[] {
  return Object.freeze([...known].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, target]) => target));
}
