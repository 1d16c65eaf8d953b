/** Why a path leads to nothing: it could lead out of the root, or there is nothing of the kind. */
export type JailReason = 'invalid' | 'missing';

/** Ends a walk through a jail; whoever started it says what that means to its caller. */
export class JailRefusal extends Error {
  override readonly name = 'JailRefusal';
  readonly reason: JailReason;

  constructor(reason: JailReason) {
    super(reason);
    this.reason = reason;
  }
}
