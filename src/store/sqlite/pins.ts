import type { ListedDefinition, Pin, PinApproval, PinDigests, PinPlace, SeenDefinition } from '../pin.ts';
import type { SqliteDatabase } from './database.ts';

interface Row {
  readonly server: string;
  readonly tool: string;
  readonly digest: string | null;
  readonly definition: string | null;
  readonly at: number | null;
  readonly pinned_by: string | null;
  readonly held_digest: string | null;
  readonly held_definition: string | null;
  readonly held_at: number | null;
  readonly revision: number;
}

type DigestRow = Pick<Row, 'server' | 'tool' | 'digest' | 'held_digest' | 'revision'>;

const NEXT = '(select coalesce(max(revision), 0) + 1 from pins)';

/** Keeps which definitions may be used; each runs inside the transaction of its batch. */
export function pins(db: SqliteDatabase) {
  const find = ({ server, tool }: PinPlace): Pin => {
    const row = db.get<Row>('select * from pins where server = ? and tool = ?', server, tool);
    return toPin(row!);
  };
  return {
    listPins: (): Pin[] =>
      db
        .all<Row>(
          `select * from pins where digest is not null or held_digest is not null order by server, tool`,
        )
        .map(toPin),
    changedPins: (after: number): PinDigests[] =>
      db
        .all<DigestRow>(
          `select server, tool, digest, held_digest, revision from pins where revision > ? order by server, tool`,
          after,
        )
        .map(({ digest, held_digest: held, ...pin }) => ({
          ...pin,
          pinned: digest ?? undefined,
          held: held ?? undefined,
        })),
    ...firstPins(db, find),
    holdPin(place: PinPlace, { digest, definition, at }: SeenDefinition): Pin | undefined {
      const { server, tool } = place;
      const changed = db.run(
        `insert into pins (server, tool, held_digest, held_definition, held_at, revision)
         values (?1, ?2, ?3, ?4, ?5, ${NEXT})
         on conflict (server, tool) do update
         set held_digest = ?3, held_definition = ?4, held_at = ?5, revision = ${NEXT}
         where pins.held_digest is not ?3 and pins.digest is not ?3`,
        server,
        tool,
        digest,
        definition,
        at,
      );
      return changed === 1 ? find(place) : undefined;
    },
    ...approvals(db, find),
  };
}

function firstPins(db: SqliteDatabase, find: (place: PinPlace) => Pin) {
  const pinFirst = (place: PinPlace, seen: SeenDefinition): Pin => {
    const { server, tool } = place;
    const { digest, definition, at } = seen;
    db.run(
      `insert into pins (server, tool, digest, definition, at, revision) values (?1, ?2, ?3, ?4, ?5, ${NEXT})
         on conflict (server, tool) do update
         set digest = ?3, definition = ?4, at = ?5, pinned_by = null, revision = ${NEXT},
           held_digest = iif(held_digest = ?3, null, held_digest),
           held_definition = iif(held_digest = ?3, null, held_definition),
           held_at = iif(held_digest = ?3, null, held_at)
         where pins.digest is null`,
      server,
      tool,
      digest,
      definition,
      at,
    );
    return find(place);
  };
  return {
    pinFirst,
    pinListing(server: string, listing: readonly ListedDefinition[]): void {
      if (db.get('select 1 from pins where server = ? and digest is not null limit 1', server)) return;
      for (const { tool, ...seen } of listing) pinFirst({ server, tool }, seen);
    },
  };
}

function approvals(db: SqliteDatabase, find: (place: PinPlace) => Pin) {
  return {
    approvePin(place: PinPlace, { digest, by, at }: PinApproval): Pin | undefined {
      const { server, tool } = place;
      const changed = db.run(
        `update pins set digest = held_digest, definition = held_definition, at = ?4, pinned_by = ?5,
           held_digest = null, held_definition = null, held_at = null, revision = ${NEXT}
         where server = ?1 and tool = ?2 and held_digest = ?3`,
        server,
        tool,
        digest,
        at,
        by,
      );
      return changed === 1 ? find(place) : undefined;
    },
    dismissPin({ server, tool }: PinPlace, digest: string): true | undefined {
      const changed = db.run(
        `update pins set held_digest = null, held_definition = null, held_at = null, revision = ${NEXT}
         where server = ?1 and tool = ?2 and held_digest = ?3`,
        server,
        tool,
        digest,
      );
      return changed === 1 ? true : undefined;
    },
  };
}

function toPin(row: Row): Pin {
  const { server, tool, revision, digest, definition, at, pinned_by: by } = row;
  const { held_digest: heldDigest, held_definition: heldDefinition, held_at: heldAt } = row;
  return {
    server,
    tool,
    pinned: digest === null ? undefined : { digest, definition: definition!, at: at!, by: by ?? undefined },
    held: heldDigest === null ? undefined : { digest: heldDigest, definition: heldDefinition!, at: heldAt! },
    revision,
  };
}
