import { ownerOf, type Caller } from '../core/caller.ts';
import { ToolcribError, type ErrorCode } from '../base/errors.ts';

/** How many long-lived things of one kind there may be, in all and for one caller. */
export const openLimits = { total: 10_000, perCaller: 100 };

/** How many bytes of messages may be under way, in all and for one caller; messages in one piece are not counted. */
export const bodyLimits = { total: 1_073_741_824, perCaller: 67_108_864 };

/** How many messages posted beside streams may be under way: each is accepted before it is read. */
export const postedLimits = { total: 10_000, perCaller: 1_000 };

/**
 * How many questions may wait for their answers; a call with a large message counts several times, because it is kept
 * meanwhile.
 */
export const questionLimits = { total: 10_000, perCaller: 100, bytesPerQuestion: 65_536 };

/**
 * Counts what callers hold open, so that no caller can hold it all. A tenant may have any number of callers: when the
 * limit is reached, other tenants still get the part they would have if it were shared evenly.
 */
export class CallerLimit {
  readonly #what: string;
  readonly #limits: Readonly<typeof openLimits>;
  readonly #code: ErrorCode;
  readonly #perCaller = new Map<string, number>();
  readonly #perTenant = new Map<string, number>();
  #total = 0;

  constructor(what: string, limits: Readonly<typeof openLimits> = openLimits, code: ErrorCode = 'too_many') {
    this.#what = what;
    this.#limits = limits;
    this.#code = code;
  }

  /** Counts this amount; the returned function gives it back, once. */
  take(caller: Caller, amount = 1): () => void {
    const owner = ownerOf(caller);
    const tenant = caller.tenant.id;
    const { perCaller } = this.#limits;
    if ((this.#perCaller.get(owner) ?? 0) + amount > perCaller || !this.#hasRoom(tenant, amount))
      throw new ToolcribError(this.#code, `At most ${perCaller} ${this.#what} may be open for one caller.`);
    this.#change(owner, tenant, amount);
    let isTaken = true;
    return () => {
      if (isTaken) this.#change(owner, tenant, -amount);
      isTaken = false;
    };
  }

  // There is never more than twice the total: tenants that come later get a share of it again.
  #hasRoom(tenant: string, amount: number): boolean {
    const { total } = this.#limits;
    if (this.#total + amount <= total) return true;
    if (this.#total + amount > 2 * total) return false;
    const own = this.#perTenant.get(tenant);
    const tenants = this.#perTenant.size + (own === undefined ? 1 : 0);
    return (own ?? 0) + amount <= total / tenants;
  }

  #change(owner: string, tenant: string, amount: number): void {
    this.#total += amount;
    add(this.#perCaller, owner, amount);
    add(this.#perTenant, tenant, amount);
  }
}

function add(counts: Map<string, number>, name: string, amount: number): void {
  const count = (counts.get(name) ?? 0) + amount;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}
