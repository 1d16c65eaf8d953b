import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../test/property-runs.ts';
import { createStoreFolder } from '../../test/store-folder.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Store } from './store.ts';

const HOUR_MS = 3_600_000;
const HOSTILE = '4:evil/eve';
const BODY = JSON.stringify({ text: 'x'.repeat(990_000) });

test('A8 a tenant that writes the largest bodies at full speed does not make the rows of another fail', async () => {
  const folder = createStoreFolder();
  const troubles: string[] = [];
  const store = await folder.open({ onTrouble: (reason) => troubles.push(reason) });
  const flood = new Flood(store);
  const work = flood.keepUp(60);
  let rows = 0;
  const enough = propertyRuns(600, 150);
  while (flood.done < enough || rows < 3) {
    await store.journal.append({ chain: 'good', body: '{"kind":"call"}' });
    rows++;
    await pause(2);
  }
  flood.isOver = true;
  await work;
  expect(troubles).toEqual([]);
  await store.close();
  // What it keeps for one tenant has an end, and so has the file.
  expect(statSync(folder.file).size).toBeLessThan(400 * 1_048_576);
}, 60_000);

/** Keeps as much as it can of every kind, as fast as it can. */
class Flood {
  isOver = false;
  done = 0;
  #n = 0;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async keepUp(atOnce: number): Promise<void> {
    await Promise.all(Array.from({ length: atOnce }, async () => this.#go()));
  }

  async #go(): Promise<void> {
    while (!this.isOver) {
      try {
        await this.#keep(this.#n++);
        this.done++;
      } catch (error) {
        // The store may refuse what is too much; not because the record is in trouble.
        if (!(error instanceof ToolcribError) || error.code === 'record_unavailable') throw error;
        await pause(50);
      }
    }
  }

  async #keep(n: number): Promise<void> {
    const { journal, reservations, memory } = this.#store;
    const now = Date.now();
    const kept = { id: `${n}`, owner: HOSTILE, createdAt: now };
    switch (n % 4) {
      case 0: {
        const reservation = { owner: HOSTILE, key: `${n}`, subject: 's', expiresAt: now + 24 * HOUR_MS };
        await journal.commit({ chain: 'evil', body: '{"kind":"call"}' }, reservation);
        return reservations.finish(HOSTILE, `${n}`, BODY);
      }
      case 1: {
        const result = { content: [{ type: 'text', text: BODY }] };
        return memory.tasks.put({ ...kept, status: 'completed', updatedAt: now, ttlMs: HOUR_MS, result });
      }
      case 2:
        return memory.sessions.put({
          ...kept,
          protocolVersion: '2025-11-25',
          client: { name: BODY.slice(0, 60_000) },
        });
      default:
        return memory.events.keep(`s${n % 7}`, { id: `${n}`, text: BODY }, HOSTILE);
    }
  }
}
