import type { Awaitable } from '../../base/awaitable.ts';

/** A skill that a model wants to use for the first time, for a person to decide about. */
export interface SkillRequest {
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly uri: string;
  /** Over all its files; `undefined` where they cannot be known before, so that nothing can be remembered. */
  readonly digest: string | undefined;
  readonly signal: AbortSignal;
}

/** Asks a person whether a skill may be used. */
export type OnSkill = (request: SkillRequest) => Awaitable<boolean>;
