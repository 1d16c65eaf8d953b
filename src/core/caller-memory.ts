import type { Caller, Tenant } from './caller.ts';

// The topics of every call come first, so that they lie together in memory.
const topics = ['view', 'rights', 'counts', 'row'] as const;

/** A kind of value that is remembered about callers. */
export type Topic = (typeof topics)[number];

/** What is remembered about one caller: for every topic, which memory has a value, and that value. */
type Page = unknown[];

/** A caller that cannot change, with its page at hand; a copy of it with other rights has none. */
class NamedCaller implements Caller {
  readonly id: string;
  readonly tenant: Tenant;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  declare readonly credential?: string;
  readonly #page = emptyPage();

  constructor({ id, tenant, scopes, roles, credential }: Caller) {
    this.id = id;
    this.tenant = tenant;
    this.scopes = scopes;
    this.roles = roles;
    if (credential !== undefined) this.credential = credential;
    Object.freeze(this);
  }

  static pageOf(caller: object): Page | undefined {
    return #page in caller ? caller.#page : undefined;
  }
}

/** Makes the caller that a sign-in knows by name: what is remembered about it is found without a search. */
export function nameCaller(facts: Caller): Caller {
  return new NamedCaller(facts);
}

/** Whether something is a caller made by `nameCaller`. */
export function isNamed(caller: unknown): caller is Caller {
  return typeof caller === 'object' && caller !== null && NamedCaller.pageOf(caller) !== undefined;
}

const pages = new WeakMap<Caller, Page>();

function emptyPage(): Page {
  return Array.from({ length: topics.length * 2 });
}

function pageOf(caller: Caller): Page | undefined {
  return NamedCaller.pageOf(caller) ?? pages.get(caller);
}

/**
 * Remembers a value about each caller, for as long as the caller is known. All values of a caller lie in one array,
 * because with many callers every further map is a look into cold memory. So a caller has one value for each topic: if
 * two memories share a topic, the one that wrote last has it.
 */
export class CallerMemory<T> {
  readonly #place: number;

  constructor(topic: Topic) {
    this.#place = topics.indexOf(topic) * 2;
  }

  /** What is remembered about a caller. */
  get(caller: Caller): T | undefined {
    const page = pageOf(caller);
    return page?.[this.#place] === this ? (page[this.#place + 1] as T) : undefined;
  }

  /** Remembers something about a caller. */
  set(caller: Caller, value: T): void {
    let page = pageOf(caller);
    if (!page) pages.set(caller, (page = emptyPage()));
    page[this.#place] = this;
    page[this.#place + 1] = value;
  }
}
