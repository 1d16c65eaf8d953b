import type { KeyObject } from 'node:crypto';
import { genesis, linkRow, parseRow, writeRow, type ChainHead } from '../journal/chain.ts';
import {
  fingerprint,
  foldGroup,
  intentsDigest,
  signCheckpoint,
  type Checkpoint,
} from '../journal/checkpoint.ts';
import { CheckpointCopies } from '../journal/checkpoint-copies.ts';
import { OpenIntents } from '../journal/intent.ts';
import type { SqliteDatabase } from './database.ts';
import type { Entry } from '../store.ts';
import { decodeText, textBytes, type StoredBytes } from '../journal/stored-text.ts';

const HEADS_A_TURN = 1_000;

/** When and how checkpoints are made. */
export interface CheckpointOptions {
  readonly key: KeyObject;
  /** Each file gets a copy; all of them are outside the database. */
  readonly files: readonly string[];
  readonly everyRows: number;
}

// Changed in place: with many chains, new head objects would live long enough to burden garbage collection.
interface Chain {
  readonly name: string;
  seq: number;
  hash: string;
  /** Whether it grew since the last checkpoint. */
  hasGrown: boolean;
}

/** A group of rows that may not be on disk yet, and the state before it. */
interface Group {
  readonly lastId: number;
  readonly order: string;
  readonly rows: { readonly chain: Chain; readonly before: ChainHead }[];
}

interface JournalRow {
  readonly id: number;
  readonly rows: StoredBytes;
}

/** Adds rows to their chains and writes them as a group, inside the caller's transaction. */
export class JournalWriter {
  readonly #db: SqliteDatabase;
  readonly #options: CheckpointOptions;
  readonly copies: CheckpointCopies;
  /** Kept in memory and stored with checkpoints; rows since the last one complete it. */
  readonly intents = new OpenIntents();
  readonly #chains = new Map<string, Chain>();
  #grown: Chain[] = [];
  #rowsSince = 0;
  // A hash of the order of all rows since the last checkpoint.
  #order = '';
  #turnsToSkip = 0;
  #lastId = 0;
  #seenWrites: number;
  #group: Group | undefined;

  constructor(db: SqliteDatabase, options: CheckpointOptions) {
    this.#db = db;
    this.#options = options;
    this.copies = new CheckpointCopies(db, options.files);
    this.#seenWrites = db.foreignWrites;
    this.#catchUp();
  }

  /** Whether enough rows were written for a checkpoint. */
  get isDue(): boolean {
    // With very many chains, checkpoints are less frequent: they must not outgrow the rows.
    return this.#rowsSince >= this.#options.everyRows * (1 + this.#turnsTaken());
  }

  /** Writes a group of rows; the caller's transaction makes it durable. */
  write(entries: readonly Entry[]): void {
    this.#lookAround();
    const rows: Group['rows'] = [];
    this.#group = { lastId: this.#lastId, order: this.#order, rows };
    const lines: string[] = [];
    const hashes: string[] = [];
    for (const { chain: name, body } of entries) {
      const chain = this.#chain(name);
      rows.push({ chain, before: { seq: chain.seq, hash: chain.hash } });
      const next = linkRow(chain, body);
      setHead(chain, next);
      lines.push(writeRow(name, next, body));
      hashes.push(next.hash);
    }
    const id = ++this.#lastId;
    this.#order = foldGroup(this.#order, id, hashes);
    this.#db.run('insert into journal (id, at, rows) values (?, ?, ?)', id, Date.now(), lines.join('\n'));
  }

  /** Confirms that the group is on disk. */
  kept(entries: readonly Entry[]): void {
    for (const { chain } of this.#group?.rows ?? []) this.#noteGrowth(chain);
    this.#group = undefined;
    this.#rowsSince += entries.length;
    for (const entry of entries) this.intents.take(entry);
  }

  /** Undoes a group that did not reach the disk. */
  lost(): void {
    if (!this.#group) return;
    for (const { chain, before } of this.#group.rows.toReversed()) setHead(chain, before);
    this.#lastId = this.#group.lastId;
    this.#order = this.#group.order;
    this.#group = undefined;
  }

  /** Signs the head of every chain, and stores that in the database and in the copies. */
  checkpoint(): void {
    this.#turnsToSkip = this.#turnsTaken();
    if (this.#grown.length === 0) {
      this.copies.catchUp();
      return;
    }
    const line = this.#db.atOnce(() => {
      this.#lookAround();
      return this.#grown.length === 0 ? undefined : this.#sign();
    });
    this.#forgetGrowth();
    if (line === undefined) this.copies.catchUp();
    else this.copies.add(line);
  }

  /** The same, unless the last one was so large that this turn is skipped. */
  checkpointInTurn(): void {
    if (this.#turnsToSkip > 0) this.#turnsToSkip--;
    else this.checkpoint();
  }

  #turnsTaken(): number {
    return Math.floor(this.#grown.length / HEADS_A_TURN);
  }

  #sign(): string {
    const db = this.#db;
    const last = db.get<{ n: number; line: string }>(
      'select n, line from checkpoints order by n desc limit 1',
    );
    // From entries, because a chain may be named `__proto__`.
    const heads: Checkpoint['heads'] = Object.fromEntries(
      this.#grown.map(({ name, seq, hash }) => [name, [seq, hash]]),
    );
    db.run(
      `insert into heads select key, value->>0, value->>1 from json_each(?) where true
       on conflict do update set seq = excluded.seq, hash = excluded.hash`,
      JSON.stringify(heads),
    );
    const intents = this.intents.entries();
    db.run('delete from intents');
    db.run(
      'insert into intents select value->>0, value->>1, value->>2 from json_each(?)',
      JSON.stringify(intents.map(([call, { chain, body }]) => [call, chain, body])),
    );
    const n = (last?.n ?? 0) + 1;
    const before = last ? fingerprint(last.line) : '';
    const now = new Date();
    const at = now.toISOString();
    const state = { upTo: this.#lastId, heads, order: this.#order, intents: intentsDigest(intents) };
    const line = signCheckpoint({ n, at, ...state, before }, this.#options.key);
    db.run('insert into checkpoints values (?, ?, ?, ?)', n, this.#lastId, now.getTime(), line);
    return line;
  }

  // Chains grow only under the write lock, so writes of other processes are read before adding.
  #lookAround(): void {
    const writes = this.#db.foreignWrites;
    if (writes === this.#seenWrites) return;
    this.#seenWrites = writes;
    this.#catchUp();
  }

  #catchUp(): void {
    const covered = this.#db.get<{ up_to: number }>('select up_to from checkpoints order by n desc limit 1');
    if (covered && covered.up_to > this.#lastId) {
      // Rows another process covered with a checkpoint may be many, or removed: the stored heads replace them.
      this.#lastId = covered.up_to;
      for (const { chain, seq, hash } of this.#db.all<ChainHead & { chain: string }>(
        'select chain, seq, hash from heads',
      ))
        setHead(this.#chain(chain), { seq, hash });
      this.intents.restore(this.#db.all<Entry>('select chain, body from intents'));
    }
    if (covered?.up_to === this.#lastId) this.#forgetGrowth();
    const groups = this.#db.all<JournalRow>(
      `select id, ${textBytes('rows')} from journal where id > ? order by id`,
      this.#lastId,
    );
    for (const { id, rows } of groups) {
      const text = decodeText(rows);
      if (text === undefined)
        throw new Error(`group ${id} of the record is damaged; run: toolcrib audit verify`);
      const hashes: string[] = [];
      for (const line of text.split('\n')) {
        const row = parseRow(line);
        if (!row) continue;
        hashes.push(row.hash);
        const chain = this.#chain(row.chain);
        setHead(chain, row);
        this.#noteGrowth(chain);
        this.intents.take(row);
        this.#rowsSince++;
      }
      this.#order = foldGroup(this.#order, id, hashes);
      this.#lastId = id;
    }
  }

  #chain(name: string): Chain {
    let chain = this.#chains.get(name);
    if (!chain) this.#chains.set(name, (chain = { name, ...genesis(name), hasGrown: false }));
    return chain;
  }

  #noteGrowth(chain: Chain): void {
    if (chain.hasGrown) return;
    chain.hasGrown = true;
    this.#grown.push(chain);
  }

  #forgetGrowth(): void {
    for (const chain of this.#grown) chain.hasGrown = false;
    this.#grown = [];
    this.#rowsSince = 0;
    this.#order = '';
  }
}

function setHead(chain: Chain, { seq, hash }: ChainHead): void {
  chain.seq = seq;
  chain.hash = hash;
}
