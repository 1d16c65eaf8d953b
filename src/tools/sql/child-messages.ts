import type { SqlRows, SqlTrouble, SqlValue } from './driver.ts';
import type { Scope, Survey } from './survey.ts';

/** A request to the process that owns the connection. */
export type ChildRequest = { readonly id: number } & (
  | { readonly kind: 'columns'; readonly table: string }
  | { readonly kind: 'tables'; readonly limit: number }
  | { readonly kind: 'survey'; readonly sql: string }
  | {
      readonly kind: 'query';
      readonly sql: string;
      readonly values: readonly SqlValue[];
      readonly maxRows: number;
      readonly maxBytes: number;
      readonly scope?: Scope;
    }
);

/** Its reply; `detail` is the database's own text, for the log only. */
export type ChildReply = { readonly id: number } & (
  | SqlRows
  | { readonly survey: StatementSurvey }
  | { readonly trouble: SqlTrouble; readonly detail: string; readonly word?: string }
);

/** What a statement reads and calls, and how many values it takes. */
export type StatementSurvey = Survey & { readonly parameterCount: number };

/** The signal with which a process ends itself if a statement takes too much memory. */
export const OUT_OF_MEMORY = 'SIGUSR2';
