import {
  MAX_APPROVALS_PER_OWNER,
  MAX_APPROVED_ROUNDS,
  type Approval,
  type ApprovalDecision,
  type ApprovalRequest,
} from '../../core/memory/approval.ts';
import { parseJson } from '../../base/parse-json.ts';
import { tenantOf } from '../../core/caller.ts';
import { newApprovalId } from '../store.ts';
import type { SqliteDatabase } from './database.ts';
import type { SqliteShares } from './shares.ts';

interface Row {
  readonly id: string;
  readonly record: string;
  readonly decision: string | null;
}

/** The searchable fields of a request for approval; the whole request is passed as text. */
export type AskedFor = Pick<ApprovalRequest, 'owner' | 'subject' | 'expiresAt'>;

/** The id of a new approval, or one that exists already. */
export interface AskedAnew {
  readonly id: string;
  readonly known: Approval | undefined;
}

// A used approval is kept until it expires, so that it cannot be used again.
const GOOD = 'used_at is null and expires_at > ?';

/** Creates, finds and decides approvals; each runs inside the transaction of its batch. */
export function approvals(db: SqliteDatabase, shares: SqliteShares) {
  return {
    /** Asks for an approval; `undefined` if its owner has too many or too large ones open. */
    askApproval(text: string, { owner, subject, expiresAt }: AskedFor): AskedAnew | undefined {
      const now = Date.now();
      const known = db.get<Row>(
        `select id, record, decision from approvals where owner = ? and subject = ? and ${GOOD}`,
        owner,
        subject,
        now,
      );
      if (known) return { id: known.id, known: toApproval(known) };
      const { waiting } = db.get<{ waiting: number }>(
        `select count(*) as waiting from approvals where owner = ? and decision is null and ${GOOD}`,
        owner,
        now,
      )!;
      const bytes = Buffer.byteLength(text);
      if (waiting >= MAX_APPROVALS_PER_OWNER || shares.isOver('approvals', owner, { rows: 1, bytes }))
        return undefined;
      const id = newApprovalId();
      db.run(
        'insert into approvals (id, owner, subject, record, expires_at, tenant, bytes) values (?, ?, ?, ?, ?, ?, ?)',
        id,
        owner,
        subject,
        text,
        expiresAt,
        tenantOf(owner),
        bytes,
      );
      shares.add('approvals', owner, { rows: 1, bytes });
      return { id, known: undefined };
    },
    findApproval(id: string): Approval | undefined {
      const row = db.get<Row>(
        `select id, record, decision from approvals where id = ? and ${GOOD}`,
        id,
        Date.now(),
      );
      return row && toApproval(row);
    },
    decideApproval(id: string, decision: ApprovalDecision): Approval | undefined {
      const row = db.get<Row>(
        `update approvals set decision = ?, expires_at = ? where id = ? and decision is null and ${GOOD}
         returning id, record, decision`,
        JSON.stringify(decision),
        decision.expiresAt,
        id,
        Date.now(),
      );
      return row && toApproval(row);
    },
    listApprovals: (): Approval[] =>
      db
        .all<Row>(`select id, record, decision from approvals where ${GOOD} order by rowid`, Date.now())
        .map(toApproval),
  };
}

/** Uses approvals; each runs inside the transaction of its batch. */
export function approvalUses(db: SqliteDatabase) {
  return {
    /** Uses up an approval; `false` if it cannot be used. */
    useApproval(id: string): boolean {
      const now = Date.now();
      return (
        db.run(
          `update approvals set used_at = ? where id = ? and decision ->> 'isApproved' and ${GOOD}`,
          now,
          id,
          now,
        ) === 1
      );
    },
    resumeApproval(owner: string, subject: string): string | undefined {
      const now = Date.now();
      return db.get<{ id: string }>(
        `update approvals set rounds = rounds + 1 where id = (
           select id from approvals
           where owner = ?1 and subject = ?2 and used_at is not null and rounds < ${MAX_APPROVED_ROUNDS} and expires_at > ?3
             and not exists (
               select 1 from approvals where owner = ?1 and subject = ?2 and not decision ->> 'isApproved' and expires_at > ?3
             )
           order by used_at desc limit 1
         ) returning id`,
        owner,
        subject,
        now,
      )?.id;
    },
    /** Makes an approval usable again: the call it was used for did not run. */
    giveBackApproval: (id: string): void =>
      void db.run('update approvals set used_at = null where id = ?', id),
  };
}

function toApproval({ id, record, decision }: Row): Approval {
  const request = parseJson(record) as ApprovalRequest;
  if (decision === null) return { ...request, id, decision: undefined };
  const decided = parseJson(decision) as ApprovalDecision;
  return { ...request, id, decision: decided, expiresAt: decided.expiresAt };
}
