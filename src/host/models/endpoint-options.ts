import type { Clock } from '../../base/clock.ts';
import type { Model } from './model.ts';

/** How much time and how many bytes a turn may take. */
export interface EndpointLimits {
  readonly connectMs: number;
  /** How long an endpoint may be silent, before its answer and within it. */
  readonly idleMs: number;
  /** The longest time that a turn may take. */
  readonly totalMs: number;
  readonly eventBytes: number;
  readonly totalBytes: number;
  /** How often a request is sent again before its answer has begun. */
  readonly retries: number;
  /** How long all pauses of a request may be together. */
  readonly waitMs: number;
}

/** The facts about an endpoint and its model. */
export interface EndpointOptions {
  /** The name that the endpoint uses for the model. */
  readonly name: string;
  /** Where the API is; the provider's own address unless set. */
  readonly baseUrl?: string;
  /** Local model servers mostly want none. */
  readonly key?: string;
  /** The environment variable the key is from, for messages about it. */
  readonly keyVariable?: string;
  /** Sent with every request, and to no other origin. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The longest answer, unless a request sets its own. */
  readonly maxOutputTokens?: number;
  readonly limits?: Partial<EndpointLimits>;
  /** The abilities of the model, if the guess by its name is wrong. */
  readonly features?: Partial<Model['features']>;
  readonly clock?: Clock;
}
