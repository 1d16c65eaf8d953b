import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { openCrib, type Crib } from '../gateway.ts';
import type { Json } from '../behaviour/peer.ts';

const LARGE = 'x'.repeat(950_000);
const KEY = 'dev.toolcrib/idempotencyKey';
const RUN_MS = 75_000;

test(
  'A8 memory that one tenant occupies, or that runs out, does not refuse calls of other tenants',
  { timeout: 600_000 },
  async () => {
    const keep = defineTool({ name: 'keep', description: 'Has its outcome kept.' }, () => LARGE);
    const later = defineTool(
      { name: 'later', description: 'Goes on as a task.' },
      async (_args, { detach }) => {
        detach();
        return LARGE;
      },
    );
    const annotations = { readOnlyHint: true };
    const say = defineTool(
      { name: 'say', description: 'Says much.', annotations },
      async (_args, { log }) => {
        for (let n = 0; n < 5; n++) log('info', LARGE.slice(0, 200_000));
        return 'said';
      },
    );
    const small = defineTool({ name: 'small', description: 'Does little.' }, () => 'done');
    const crib = await openCrib({
      offers: [keep, later, say, small],
      config: { server: { requestsPerMinute: 100_000 }, stages: { rateLimit: false, circuitBreak: false } },
    });
    // As much as calls of an earlier day may have left; the sweep of the first minute removes it.
    await crib.gateway.close();
    leave(crib, 1_200);
    await crib.restart();
    // It was closed twice, which it says.
    crib.logged.length = 0;
    const flood = new Flood(crib);
    const work = flood.keepUp();
    const answers = await callsOf(crib);
    flood.isOver = true;
    await work;
    expect(answers.refused).toEqual([]);
    expect(answers.done).toBeGreaterThan(10);
    expect(flood.done).toBeGreaterThan(50);
    expect(flood.unavailable).toEqual([]);
    expect(crib.logged.filter(({ level }) => level === 'error')).toEqual([]);
    const kept = inside(crib, (db) =>
      db.all<Json>("select kind, owner, kept, bytes from holdings where owner = '5:south'"),
    );
    for (const { bytes } of kept) expect(bytes).toBeLessThanOrEqual(64 * 1_048_576);
    expect(
      inside(crib, (db) => db.get("select count(*) as n from reservations where owner = 'old'")),
    ).toMatchObject({ n: 0 });
  },
);

/** Calls of the other tenant, one after the other. */
async function callsOf(crib: Crib): Promise<{ done: number; refused: string[] }> {
  const ada = await crib.connect('ada');
  const refused: string[] = [];
  let done = 0;
  const until = performance.now() + RUN_MS;
  while (performance.now() < until) {
    const answer = await ada.request('tools/call', { name: 'small', arguments: {} });
    if (answer?.result && answer.result['isError'] !== true) done++;
    else refused.push(JSON.stringify(answer));
    await pause(10);
  }
  return { done, refused };
}

/** The largest bodies of every kind, as fast as they are answered. */
class Flood {
  isOver = false;
  done = 0;
  readonly unavailable: string[] = [];
  readonly #crib: Crib;

  constructor(crib: Crib) {
    this.#crib = crib;
  }

  async keepUp(): Promise<void> {
    const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const modern = await this.#crib.connect('cyn', { capabilities: tasks });
    const legacy = await this.#crib.connect('cyn', { version: '2025-11-25' });
    let n = 0;
    const keyed = (): Promise<unknown> =>
      modern.request('tools/call', { name: 'keep', arguments: {}, _meta: { [KEY]: `k${n++}` } });
    const ways = [
      keyed,
      keyed,
      () => modern.request('tools/call', { name: 'later', arguments: {} }),
      () => legacy.request('tools/call', { name: 'say', arguments: {} }),
    ];
    const forget = (): void => {
      // Everything that was heard is kept for tests to look at: here that would be gigabytes.
      for (const { wire } of [modern, legacy]) (wire.heard as string[]).length = 0;
    };
    await Promise.all(Array.from({ length: 24 }, (_, lane) => this.#go(ways[lane % ways.length]!, forget)));
  }

  async #go(way: () => Promise<unknown>, forget: () => void): Promise<void> {
    while (!this.isOver) {
      forget();
      // A connection that the server closed while the client was about to use it is the client's to open again.
      const text = JSON.stringify(await way().catch(() => ({})));
      if (text.includes('cannot be recorded')) this.unavailable.push(text);
      else this.done++;
    }
  }
}

function leave(crib: Crib, outcomes: number): void {
  inside(crib, (db) => {
    for (let n = 0; n < outcomes; n++)
      db.run(
        `insert into reservations (owner, key, subject, outcome, expires_at, tenant, bytes)
         values ('old', ?, 's', hex(zeroblob(495000)), 1, ':old', 990000)`,
        `k${n}`,
      );
  });
}

function inside<T>(crib: Crib, use: (db: SqliteDatabase) => T): T {
  const db = new SqliteDatabase(crib.path('toolcrib.db'), 'existing');
  try {
    return use(db);
  } finally {
    db.close();
  }
}
