const MIB = 1_048_576;

/** So many things of so many bytes. */
export interface Amount {
  readonly rows: number;
  readonly bytes: number;
}

/** How much of one kind is kept for a caller, and for all callers of a tenant. */
export interface ShareLimits {
  readonly caller: Amount;
  readonly tenant: Amount;
}

/** The largest body of one kind that is kept, in bytes of UTF-8. */
export const maxKept = {
  /** The outcome of a call, under its idempotency key or as a task; of a larger one its digest is kept. */
  outcome: 2 * MIB,
  session: 65_536,
  event: 4 * MIB,
  /** Of one stream; its oldest events go first. */
  stream: MIB,
} as const;

/** How many events of a stream are kept; its oldest go first. */
export const MAX_EVENTS_PER_STREAM = 1_000;

/**
 * What is kept for each caller and tenant, in every store. An owner that has more loses its own oldest; keys, and calls
 * that wait for approval, are refused instead.
 */
export const shareLimits = {
  outcomes: share({ rows: Infinity, bytes: 16 * MIB }, { rows: Infinity, bytes: 64 * MIB }),
  tasks: share({ rows: 1_000, bytes: 16 * MIB }, { rows: 4_000, bytes: 64 * MIB }),
  sessions: share({ rows: 1_000, bytes: 4 * MIB }, { rows: 4_000, bytes: 16 * MIB }),
  events: share({ rows: Infinity, bytes: 16 * MIB }, { rows: Infinity, bytes: 64 * MIB }),
  approvals: share({ rows: Infinity, bytes: 4 * MIB }, { rows: 1_000, bytes: 16 * MIB }),
};

function share(caller: Amount, tenant: Amount): ShareLimits {
  return { caller, tenant };
}
