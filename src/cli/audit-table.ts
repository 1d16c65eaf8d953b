import { tenantOfChain } from '../stages/record/audit-row.ts';
import { OPERATOR_CHAIN } from '../store/journal/chain.ts';
import type { JournalRow } from '../store/journal/reader.ts';
import { formatTable } from './table.ts';

const HEADINGS = ['TIME', 'TENANT', 'CALLER', 'KIND', 'WHAT', 'RULE', 'OUTCOME', 'MS'];

/** Rows of the record as a table. */
export function auditTable(rows: readonly JournalRow[]): string {
  return formatTable(HEADINGS, rows.map(cellsOf), 'No rows match.');
}

/** Rows without headings, to go below a table. */
export function auditLines(rows: readonly JournalRow[]): string {
  const table = auditTable(rows);
  return table.slice(table.indexOf('\n') + 1);
}

/** Sorts rows by time: a row that counts many refusals is written a moment after its time. */
export function inOrderOfTime(rows: readonly JournalRow[]): readonly JournalRow[] {
  let before = 0;
  const timed = rows.map((row) => {
    const time = Date.parse(cellText(row.facts['at']));
    // A row without a time stays behind the one before it.
    if (!Number.isNaN(time)) before = time;
    return { row, time: before };
  });
  return timed.toSorted((one, other) => one.time - other.time).map(({ row }) => row);
}

/** One field of a row as text. */
export function cellText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function cellsOf(row: JournalRow): string[] {
  const { at, kind, caller, by, rule, outcome, ms } = row.facts;
  const who = kind === 'operator' ? by : caller;
  return [at, tenantIn(row), who, kind, targetOf(row), rule ?? '-', outcome, ms].map(cellText);
}

function tenantIn({ chain, facts }: JournalRow): unknown {
  return facts['tenant'] ?? (chain === OPERATOR_CHAIN ? undefined : tenantOfChain(chain));
}

function targetOf({ facts }: JournalRow): unknown {
  const { tool, resource, prompt, completion, method, did, key, reason, checkpoint } = facts;
  if (did === undefined) return tool ?? resource ?? prompt ?? completion ?? method ?? reason ?? checkpoint;
  const about = tool ?? key;
  return about === undefined ? did : `${cellText(did)}: ${cellText(about)}`;
}
