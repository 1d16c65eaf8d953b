import type { OperationName } from './operations.ts';
import type { Entry } from '../store.ts';

/** What the thread that owns the database is told when it starts. */
export interface WorkerOptions {
  readonly file: string;
  /** What names this process to others that share the file. */
  readonly holder: string;
  readonly signingKey: string;
  readonly checkpointFiles: readonly string[];
  readonly checkpointRows: number;
  readonly checkpointMs: number;
  readonly watchMs: number;
  readonly retentionDays: number | undefined;
}

/** One thing to do, with the row that rides with it. */
export interface Operation {
  readonly name: OperationName;
  readonly args: readonly unknown[];
  readonly row?: Entry;
}

/** Everything that goes into one transaction. */
export interface Batch {
  readonly id: number;
  /** One line a row: chain and body; one text is cheaper to hand over than many. */
  readonly rows: string;
  readonly operations: readonly Operation[];
  /** How many rows were refused without being sent since the batch before. */
  readonly refused: number;
}

/** What came of a batch: an answer per operation, or one error for all of it. */
export interface Reply {
  readonly id: number;
  readonly results?: readonly unknown[];
  readonly error?: string;
}

/** What the thread says by itself, or in answer. */
export type News =
  | Reply
  | { readonly ready: true }
  | { readonly changed: boolean }
  | { readonly trouble: string }
  | { readonly upkeep: string }
  | { readonly failed: string };
