import type { ToolCall } from './call.ts';
import type { Caller } from './caller.ts';
import type { Result } from './result.ts';
import type { Tool } from './tool.ts';

/** A value now or later: local sources answer at once, connected ones cannot. */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value, at once if it is there: a promise for what is there already would cost more than the step it is for. */
export function andThen<T, U>(value: Awaitable<T>, use: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Does something that may fail at once or later, and recovers from either. */
export function attempt<T>(work: () => Awaitable<T>, recover: (error: unknown) => T): Awaitable<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}

/** Which tools came, went or changed. */
export interface Change {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly modified: readonly string[];
}

/** Anything that can list, find and call tools for a caller. */
export interface ToolSource {
  /** The same frozen array until what this caller sees changes. */
  list(caller: Caller): Awaitable<readonly Tool[]>;
  find(name: string, caller: Caller): Awaitable<Tool | undefined>;
  call(call: ToolCall): Awaitable<Result>;
  /** Tells of changes until the returned function is called. */
  watch?(listener: (change: Change) => void): () => void;
}
