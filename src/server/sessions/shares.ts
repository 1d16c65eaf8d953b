import { ownerOf } from '../../core/caller.ts';
import type { Session } from './session.ts';

/** How many sessions there may be, in all and for one caller. */
export interface ShareOptions {
  readonly max: number;
  readonly perCaller: number;
}

/**
 * Whose sessions there are, and which one ends when there are too many: of a caller with too many its own, otherwise of
 * the tenant that has most.
 */
export class SessionShares {
  readonly #limits: ShareOptions;
  // Each set in the order of last use, and so are the tenants.
  readonly #byCaller = new Map<string, Set<Session>>();
  readonly #byTenant = new Map<string, Set<Session>>();
  #total = 0;

  constructor(limits: ShareOptions) {
    this.#limits = limits;
  }

  /** Counts a session, or notes that it was used. */
  use(session: Session): void {
    const { caller } = session;
    if (!this.#byCaller.get(ownerOf(caller))?.has(session)) this.#total++;
    moveLast(this.#byCaller, ownerOf(caller), session);
    moveLast(this.#byTenant, caller.tenant.id, session);
  }

  /** Counts a session no longer. */
  remove(session: Session): void {
    const { caller } = session;
    if (!this.#byCaller.get(ownerOf(caller))?.has(session)) return;
    this.#total--;
    take(this.#byCaller, ownerOf(caller), session);
    take(this.#byTenant, caller.tenant.id, session);
  }

  /** The session that has to end after this one was opened, if there are too many. */
  surplus(opened: Session): Session | undefined {
    const own = this.#byCaller.get(ownerOf(opened.caller)) ?? NONE;
    if (own.size > this.#limits.perCaller) return leastInUse([own], opened);
    if (this.#total <= this.#limits.max) return undefined;
    const most = this.#largestTenant();
    return leastInUse(most.has(opened) ? [own, most] : [most], opened);
  }

  #largestTenant(): ReadonlySet<Session> {
    let largest = NONE;
    for (const sessions of this.#byTenant.values()) if (sessions.size > largest.size) largest = sessions;
    return largest;
  }
}

const NONE: ReadonlySet<Session> = new Set();

// One that nobody listens to goes before one with a stream, and one with a call under way goes last.
function leastInUse(groups: readonly ReadonlySet<Session>[], opened: Session): Session | undefined {
  let withStream: Session | undefined;
  let withCall: Session | undefined;
  for (const group of groups) {
    for (const session of group) {
      if (session === opened) continue;
      if (session.isBusy) withCall ??= session;
      else if (session.serverStream.attached) withStream ??= session;
      else return session;
    }
  }
  return withStream ?? withCall;
}

function moveLast(all: Map<string, Set<Session>>, name: string, session: Session): void {
  const sessions = all.get(name) ?? new Set();
  all.delete(name);
  all.set(name, sessions);
  sessions.delete(session);
  sessions.add(session);
}

function take(all: Map<string, Set<Session>>, name: string, session: Session): void {
  const sessions = all.get(name);
  sessions?.delete(session);
  if (sessions?.size === 0) all.delete(name);
}
