/** Why a path is refused: it could lead out of the root, or there is no such entry. */
export type JailReason = 'invalid' | 'missing';

/** Ends a walk through a jail; the caller of the walk decides what to report. */
export class JailRefusal extends Error {
  override readonly name = 'JailRefusal';
  readonly reason: JailReason;

  constructor(reason: JailReason) {
    super(reason);
    this.reason = reason;
  }
}
