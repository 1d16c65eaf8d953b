import type { OperationName } from './operations.ts';
import type { Entry } from '../store.ts';

/** The start options of the thread that owns the database. */
export interface WorkerOptions {
  readonly file: string;
  /** The name of this process among those that share the file. */
  readonly holder: string;
  readonly signingKey: string;
  readonly checkpointFiles: readonly string[];
  readonly checkpointRows: number;
  readonly checkpointMs: number;
  readonly watchMs: number;
  readonly retentionDays: number | undefined;
}

/** An operation, and the row that is written with it. */
export interface Operation {
  readonly name: OperationName;
  readonly args: readonly unknown[];
  readonly row?: Entry;
}

/** Everything that goes into one transaction. */
export interface WorkBatch {
  readonly id: number;
  /** One line per row, chain and body; one string is cheaper to send than many. */
  readonly rows: string;
  readonly operations: readonly Operation[];
  /** How many rows were refused without being sent since the previous batch. */
  readonly refused: number;
}

/** The results of a batch: one per operation, or one error for all. */
export interface BatchReply {
  readonly id: number;
  readonly results?: readonly unknown[];
  readonly error?: string;
}

/** A message from the thread, with or without a request. */
export type News =
  | BatchReply
  | { readonly ready: true }
  | { readonly changed: boolean }
  | { readonly trouble: string }
  | { readonly upkeep: string }
  | { readonly failed: string };
