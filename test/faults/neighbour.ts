import { within } from '../within.ts';
import { Client } from './client.ts';
import { pause } from './scenario.ts';

const PATIENCE_MS = 30_000;
// Of every so many calls one has an effect, which takes two rows of the record and two syncs.
const EFFECT_EVERY = 8;

/** How long answers took, and what was refused or never answered. */
export interface Answers {
  readonly times: number[];
  readonly refused: string[];
}

/** A tenant that calls steadily, at a modest rate: a call that is late delays none of those after it. */
export class Neighbour {
  /** What became of its calls, by the time they were made in: what is answered later belongs there, too. */
  readonly heard = new Map<string, Answers>();
  #now: Answers = { times: [], refused: [] };
  readonly #clients: readonly Client[];
  readonly #calling: Promise<void>[];
  #isOver = false;
  #made = 0;

  constructor(port: number, keys: readonly string[], perSecond: number) {
    this.#clients = keys.map((key) => new Client({ port, key, connections: 64, sendsAgain: true }));
    this.#calling = this.#clients.map((client, index) =>
      this.#keepCalling(client, { everyMs: 1000 / perSecond, offset: index / keys.length }),
    );
  }

  /** From now on calls belong to a time of that name. */
  enter(name: string): void {
    const known = this.heard.get(name);
    this.#now = known ?? { times: [], refused: [] };
    if (!known) this.heard.set(name, this.#now);
  }

  /** Waits for the last answers. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#calling);
    this.close();
  }

  /** Hangs up, whatever is under way. */
  close(): void {
    this.#isOver = true;
    for (const client of this.#clients) client.close();
  }

  async #keepCalling(
    client: Client,
    { everyMs, offset }: { everyMs: number; offset: number },
  ): Promise<void> {
    const startedAt = performance.now() + offset * everyMs;
    const underWay = new Set<Promise<void>>();
    for (let due = 0; !this.#isOver; due++) {
      const early = startedAt + due * everyMs - performance.now();
      if (early > 0) await pause(early);
      const call = this.#call(client).finally(() => underWay.delete(call));
      underWay.add(call);
    }
    await Promise.all(underWay);
  }

  async #call(client: Client): Promise<void> {
    const number = this.#made++;
    const nonce = `n${number}`;
    const tool = number % EFFECT_EVERY === 0 ? 'kept' : 'echo';
    const { times, refused } = this.#now;
    const startedAt = performance.now();
    try {
      const { isDone, text } = await within(PATIENCE_MS, 'an answer', client.call(tool, { nonce }));
      times.push(performance.now() - startedAt);
      if (!isDone || text !== nonce) refused.push(`${tool} ${text.slice(0, 200)}`);
    } catch (error) {
      refused.push(`${tool} ${String(error)}`);
    }
  }
}
