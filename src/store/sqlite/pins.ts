import type {
  ListedDefinition,
  Pin,
  PinApproval,
  PinDigests,
  PinLister,
  PinPlace,
  PinTool,
  SeenDefinition,
} from '../pin.ts';
import type { SqliteDatabase } from './database.ts';

interface Row extends PinPlace {
  readonly digest: string | null;
  readonly definition: string | null;
  readonly at: number | null;
  readonly pinned_by: string | null;
  readonly held_digest: string | null;
  readonly held_definition: string | null;
  readonly held_at: number | null;
  readonly revision: number;
}

type DigestRow = Pick<Row, keyof PinPlace | 'digest' | 'held_digest' | 'revision'>;

const NEXT = '(select coalesce(max(revision), 0) + 1 from pins)';

/** Keeps which definitions may be used; each runs inside the transaction of its batch. */
export function pins(db: SqliteDatabase) {
  return {
    listPins: (): Pin[] =>
      db
        .all<Row>(
          `select * from pins where digest is not null or held_digest is not null
           order by server, tool, account`,
        )
        .map(toPin),
    changedPins: (after: number): PinDigests[] =>
      db
        .all<DigestRow>(
          `select server, account, tool, digest, held_digest, revision from pins where revision > ?
           order by server, tool, account`,
          after,
        )
        .map(({ digest, held_digest: held, ...pin }) => ({
          ...pin,
          pinned: digest ?? undefined,
          held: held ?? undefined,
        })),
    ...firstPins(db),
    ...heldPins(db),
    ...approvals(db),
  };
}

function find(db: SqliteDatabase, { server, account, tool }: PinPlace): Pin {
  const where = 'server = ? and account = ? and tool = ?';
  return toPin(db.get<Row>(`select * from pins where ${where}`, server, account, tool)!);
}

// The pin of an account begins with the pin without an account.
function inherit(db: SqliteDatabase, { server, account, tool }: PinPlace): void {
  db.run(
    `insert into pins (server, account, tool, digest, definition, at, pinned_by, revision)
     select server, ?2, tool, digest, definition, at, pinned_by, ${NEXT} from pins
     where server = ?1 and account = '' and tool = ?3 and digest is not null
     on conflict do nothing`,
    server,
    account,
    tool,
  );
}

function firstPins(db: SqliteDatabase) {
  const pinFirst = (place: PinPlace, seen: SeenDefinition): Pin => {
    const { server, account, tool } = place;
    const { digest, definition, at } = seen;
    inherit(db, place);
    db.run(
      `insert into pins (server, account, tool, digest, definition, at, revision)
         values (?1, ?2, ?3, ?4, ?5, ?6, ${NEXT})
         on conflict (server, account, tool) do update
         set digest = ?4, definition = ?5, at = ?6, pinned_by = null, revision = ${NEXT},
           held_digest = iif(held_digest = ?4, null, held_digest),
           held_definition = iif(held_digest = ?4, null, held_definition),
           held_at = iif(held_digest = ?4, null, held_at)
         where pins.digest is null`,
      server,
      account,
      tool,
      digest,
      definition,
      at,
    );
    return find(db, place);
  };
  return {
    pinFirst,
    pinListing({ server, account }: PinLister, listing: readonly ListedDefinition[]): void {
      const isKnown = db.get(
        `select 1 from pins where server = ? and account in ('', ?) and digest is not null limit 1`,
        server,
        account,
      );
      if (isKnown) return;
      for (const { tool, ...seen } of listing) pinFirst({ server, account, tool }, seen);
    },
  };
}

function heldPins(db: SqliteDatabase) {
  return {
    // Older approvals do not count: a server could go back to a definition that was replaced since.
    pinApproved(place: PinPlace, digest: string): Pin | undefined {
      const { server, account, tool } = place;
      inherit(db, place);
      const changed = db.run(
        `insert into pins (server, account, tool, digest, definition, at, pinned_by, revision)
       select server, ?2, tool, digest, definition, at, pinned_by, ${NEXT} from pins
       where server = ?1 and tool = ?3 and digest = ?4 and pinned_by is not null
       order by at desc limit 1
       on conflict (server, account, tool) do update
       set digest = excluded.digest, definition = excluded.definition, at = excluded.at,
         pinned_by = excluded.pinned_by, held_digest = null, held_definition = null, held_at = null,
         revision = excluded.revision
       where pins.digest is null or (pins.digest is not excluded.digest and pins.at < excluded.at)`,
        server,
        account,
        tool,
        digest,
      );
      return changed === 1 ? find(db, place) : undefined;
    },
    holdPin(place: PinPlace, { digest, definition, at }: SeenDefinition): Pin | undefined {
      const { server, account, tool } = place;
      inherit(db, place);
      const changed = db.run(
        `insert into pins (server, account, tool, held_digest, held_definition, held_at, revision)
         values (?1, ?2, ?3, ?4, ?5, ?6, ${NEXT})
         on conflict (server, account, tool) do update
         set held_digest = ?4, held_definition = ?5, held_at = ?6, revision = ${NEXT}
         where pins.held_digest is not ?4 and pins.digest is not ?4`,
        server,
        account,
        tool,
        digest,
        definition,
        at,
      );
      return changed === 1 ? find(db, place) : undefined;
    },
  };
}

function approvals(db: SqliteDatabase) {
  return {
    approvePin({ server, tool }: PinTool, { digest, by, at }: PinApproval): Pin[] | undefined {
      const waiting = db.all<{ account: string }>(
        'select account from pins where server = ? and tool = ? and held_digest = ? order by account',
        server,
        tool,
        digest,
      );
      if (waiting.length === 0) return undefined;
      db.run(
        `update pins set digest = held_digest, definition = held_definition, at = ?4, pinned_by = ?5,
           held_digest = null, held_definition = null, held_at = null, revision = ${NEXT}
         where server = ?1 and tool = ?2 and held_digest = ?3`,
        server,
        tool,
        digest,
        at,
        by,
      );
      return waiting.map(({ account }) => find(db, { server, account, tool }));
    },
    dismissPin({ server, tool }: PinTool, digest: string): true | undefined {
      const changed = db.run(
        `update pins set held_digest = null, held_definition = null, held_at = null, revision = ${NEXT}
         where server = ?1 and tool = ?2 and held_digest = ?3`,
        server,
        tool,
        digest,
      );
      return changed > 0 ? true : undefined;
    },
  };
}

function toPin(row: Row): Pin {
  const { server, account, tool, revision, digest, definition, at, pinned_by: by } = row;
  const { held_digest: heldDigest, held_definition: heldDefinition, held_at: heldAt } = row;
  return {
    server,
    account,
    tool,
    pinned: digest === null ? undefined : { digest, definition: definition!, at: at!, by: by ?? undefined },
    held: heldDigest === null ? undefined : { digest: heldDigest, definition: heldDefinition!, at: heldAt! },
    revision,
  };
}
