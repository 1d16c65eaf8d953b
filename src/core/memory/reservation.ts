/** A key under which a call with effects may run once. */
export interface Reservation {
  /** Tenant and caller: keys of others do not collide. */
  readonly owner: string;
  readonly key: string;
  /** What the call is: tool, definition and arguments. A second call under the key must be the same. */
  readonly subject: string;
  /** When the key may be forgotten. */
  readonly expiresAt: number;
}
