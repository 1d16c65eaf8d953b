import type { KeyObject } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { ToolcribError } from '../base/errors.ts';
import type { StorePlaces } from '../gateway/open-store.ts';
import { checkpointKeys } from '../store/journal/checkpoint.ts';
import { damageIn } from '../store/journal/damage.ts';
import { newestGroup, readJournal, type JournalRow, type RowFilter } from '../store/journal/reader.ts';
import { escapeUnseen } from '../base/escape-unseen.ts';
import { OPERATOR_CHAIN } from '../store/journal/chain.ts';
import { openSecrets } from '../store/secrets-file.ts';
import type { SqliteDatabase } from '../store/sqlite/database.ts';
import { verifyJournal, type JournalVerdict } from '../store/journal/verify.ts';
import { chainOfTenant } from '../stages/record/audit-row.ts';
import { findPlaces, withDatabase, type DeploymentFlags } from './deployment.ts';
import { auditLines, auditTable, inOrderOfTime, cellText } from './audit-table.ts';
import { toCsv, formatJson, parseSpan, printable } from './table.ts';

/** Which rows of the record to show. */
export interface RowFlags extends DeploymentFlags {
  readonly tenant?: string;
  readonly tool?: string;
  readonly caller?: string;
  readonly outcome?: string;
  readonly operator?: boolean;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly format?: 'jsonl' | 'csv';
  /** Whether new rows are shown as they are written, until a signal. */
  readonly follow?: boolean;
}

const FOLLOW_MS = 500;

/** `toolcrib audit tail`: the newest rows, oldest of them first; and then those that follow. */
export async function tailAudit(flags: RowFlags): Promise<void> {
  const places = await findPlaces(flags.config);
  const filter = toFilter(flags, { order: 'newest', limit: 20 });
  let hasHeadings = false;
  let after = withDatabase(places, (db) => {
    const upTo = newestGroup(db);
    collect(readJournal(db, { ...filter, groups: { after: Number.MIN_SAFE_INTEGER, upTo } }), (rows) => {
      show(inOrderOfTime(rows.toReversed()), flags);
      hasHeadings = rows.length > 0;
    });
    return upTo;
  });
  if (!flags.follow) return;
  const all = { ...filter, order: 'oldest', limit: Number.MAX_SAFE_INTEGER } as const;
  for await (const _ of untilSignal(FOLLOW_MS)) {
    if (process.stdout.errored) return;
    after = withDatabase(places, (db) => {
      // Lower than before when all rows were cut off.
      const upTo = Math.max(after, newestGroup(db));
      const rows = upTo > after ? [...readJournal(db, { ...all, groups: { after, upTo } })] : [];
      if (rows.length === 0) return upTo;
      if (hasHeadings && !flags.json) process.stdout.write(auditLines(rows));
      else show(rows, flags);
      hasHeadings = true;
      return upTo;
    });
  }
}

/** A turn at intervals, until the process has to end. */
async function* untilSignal(everyMs: number): AsyncGenerator<void> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  while (!stop.signal.aborted) {
    yield;
    // A signal ends the wait early.
    await setTimeout(everyMs, undefined, { signal: stop.signal }).catch(() => {});
  }
}

/** `toolcrib audit search`: the newest rows that match. */
export async function searchAudit(flags: RowFlags): Promise<void> {
  await withRecord(flags, (db) =>
    collect(readJournal(db, toFilter(flags, { order: 'newest', limit: 100 })), (rows) =>
      show(inOrderOfTime(rows.toReversed()).toReversed(), flags),
    ),
  );
}

/** `toolcrib audit export`: every row that matches, oldest first, for other programs. */
export async function exportAudit(flags: RowFlags): Promise<void> {
  await withRecord(flags, (db) => {
    const rows = readJournal(db, toFilter(flags, { order: 'oldest', limit: Number.MAX_SAFE_INTEGER }));
    if (flags.format === 'csv') process.stdout.write(toCsv(COLUMNS, []));
    for (const row of rows) {
      // Nobody reads any further, or nothing more can be written.
      if (process.stdout.errored) break;
      process.stdout.write(flags.format === 'csv' ? toCsv([], [toCells(row)]) : `${toJson(row)}\n`);
    }
  });
}

/** `toolcrib audit verify`: whether the record is unchanged; exit code 1 if it is not. */
export async function verifyAudit(flags: DeploymentFlags): Promise<void> {
  const places = await findPlaces(flags.config);
  const { checking } = checkpointKeys(openSecrets(places.secrets, 'existing').signingKey);
  const verdict = verdictOn(places, checking);
  process.stdout.write(flags.json ? formatJson(verdict) : explain(verdict));
  // If a copy was removed, the others may have been rolled back too, so this fails as well.
  if (verdict.problem || goneCopies(verdict).length > 0) process.exitCode = 1;
}

function verdictOn(places: StorePlaces, key: KeyObject): JournalVerdict {
  try {
    return withDatabase(places, (db) => verifyJournal(db, { checkpointFiles: places.checkpoints, key }));
  } catch (error) {
    // Too damaged to be opened.
    const damage = damageIn(error);
    if (damage === undefined) throw error;
    const problem = { what: `${places.database} cannot be opened. ${damage}` };
    const nothing = { rows: 0, chains: 0, checkpoints: 0, unproven: 0, cut: undefined, missingCopies: [] };
    return { problem, ...nothing };
  }
}

async function withRecord(flags: DeploymentFlags, use: (db: SqliteDatabase) => void): Promise<void> {
  withDatabase(await findPlaces(flags.config), use);
}

// Shows what could be read, even if something could not.
function collect(found: Iterable<JournalRow>, use: (rows: readonly JournalRow[]) => void): void {
  const rows: JournalRow[] = [];
  try {
    for (const row of found) rows.push(row);
  } catch (error) {
    if (rows.length > 0) use(rows);
    throw error;
  }
  use(rows);
}

// A crash can happen between the first checkpoint and its copies.
function goneCopies({ checkpoints, missingCopies }: JournalVerdict): readonly string[] {
  return checkpoints > 1 ? missingCopies : [];
}

function explain(verdict: JournalVerdict): string {
  const missing = goneCopies(verdict).map(
    (file) =>
      `Warning: the copy ${printable(file)} does not exist. If you have just added it, restart the server, which makes it; if it was there before, somebody removed it.\n`,
  );
  return `${explainRecord(verdict)}${missing.join('')}`;
}

function explainRecord({ problem, rows, chains, checkpoints, unproven, cut }: JournalVerdict): string {
  if (problem) {
    const where =
      problem.chain === undefined
        ? ''
        : `${problem.chain}${problem.seq === undefined ? '' : `, row ${problem.seq}`}: `;
    return `The record was tampered with or damaged.\n  ${printable(`${where}${problem.what}`)}\n`;
  }
  const tail =
    unproven === 0
      ? 'Every row is covered by a signed checkpoint.'
      : `${count(unproven)} ${unproven === 1 ? 'is' : 'are'} newer than the last checkpoint: if more were cut off after that, this cannot tell.`;
  const older = cut
    ? `Rows up to checkpoint ${cut.checkpoint} (${cut.at}) were cut off, as the record says.\n`
    : '';
  return `The record is good: ${count(rows)} in ${chains} ${chains === 1 ? 'chain' : 'chains'}, ${checkpoints} signed ${checkpoints === 1 ? 'checkpoint' : 'checkpoints'}.\n${older}${tail}\n`;
}

function count(rows: number): string {
  return rows === 1 ? '1 row' : `${rows.toLocaleString('en')} rows`;
}

function toFilter(flags: RowFlags, { order, limit }: Pick<RowFilter, 'order' | 'limit'>): RowFilter {
  const { tenant, tool, caller, outcome, operator } = flags;
  const fields = [
    { names: ['tool'], value: tool },
    // An operator's action is about one caller and by another.
    { names: ['caller', 'by'], value: caller },
    { names: ['outcome'], value: outcome },
    { names: ['tenant'], value: operator ? tenant : undefined },
  ];
  return {
    chain: operator ? OPERATOR_CHAIN : tenant === undefined ? undefined : chainOfTenant(tenant),
    fields: fields.flatMap(({ names, value }) => (value === undefined ? [] : { names, value })),
    since: readTime(flags.since, '--since'),
    until: readTime(flags.until, '--until'),
    order,
    limit: readLimit(flags.limit) ?? limit,
  };
}

function readLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new ToolcribError('invalid_setup', `--limit takes a whole number from 1, not "${text}".`);
}

function readTime(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  const span = parseSpan(text);
  const time = span === undefined ? Date.parse(text) : Date.now() - span;
  if (!Number.isNaN(time)) return time;
  throw new ToolcribError(
    'invalid_setup',
    `${flag} takes a time such as 2026-11-15T13:00Z or a span such as 2h, not "${text}".`,
  );
}

// Other programs may rely on the position of a column, so new ones come last.
const COLUMNS = [
  'at',
  'tenant',
  'caller',
  'kind',
  'tool',
  'decision',
  'outcome',
  'ms',
  'bytes',
  'rule',
  'policy',
  'client',
  'protocol',
  'call',
  'credential',
  'arguments',
  'preview',
  'definition',
  'trace',
  'approval',
  'count',
  'resource',
  'uri',
  'prompt',
  'completion',
  'method',
  'target',
  'from',
  'did',
  'by',
  'key',
  'roles',
  'scopes',
  'uid',
  'reason',
  'refused',
  'checkpoint',
  'upTo',
  'chain',
  'seq',
  'hash',
  'days',
  'within',
] as const;

function toCells(row: JournalRow): string[] {
  const fields = fieldsOf(row);
  return COLUMNS.map((name) => printable(cellText(fields[name])));
}

function show(rows: readonly JournalRow[], flags: RowFlags): void {
  process.stdout.write(flags.json ? jsonLines(rows) : auditTable(rows));
}

function jsonLines(rows: readonly JournalRow[]): string {
  return rows.map((row) => `${toJson(row)}\n`).join('');
}

function toJson(row: JournalRow): string {
  return escapeUnseen(JSON.stringify(fieldsOf(row)));
}

function fieldsOf({ chain, seq, hash, facts }: JournalRow): Readonly<Record<string, unknown>> {
  return { ...facts, chain, seq, hash };
}
