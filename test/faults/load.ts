import { Client, type Answer, type ClientOptions } from './client.ts';
import type { Row } from './crib.ts';
import { pause, summarise } from './scenario.ts';
import { InVain } from '../within.ts';

/** One call of a load: a tool, and arguments with the nonce by which it is found again. */
export interface LoadCall {
  readonly tool: string;
  readonly args: { readonly nonce: string; readonly [name: string]: unknown };
}

/** Calls that are made as fast as they are answered, until the load is stopped or the server is gone. */
export class Load {
  /** Nonces of calls that were answered as done, by tool. */
  readonly acknowledged = new Map<string, string>();
  /** Answers other than that. */
  readonly refused: Answer[] = [];
  /** How often a connection failed. */
  lost = 0;
  /** How many calls were answered, in whatever way. */
  answered = 0;
  #begun = 0;
  readonly #startedAt = performance.now();
  readonly #client: Client;
  readonly #lanes: Promise<void>[];
  #isOver = false;

  constructor(
    options: ClientOptions & {
      readonly lanes: number;
      readonly make: () => LoadCall;
      readonly goesOn?: boolean;
      /** How many calls are begun a second at most; as many as are answered unless set. */
      readonly perSecond?: number;
    },
  ) {
    this.#client = new Client({ connections: options.lanes, ...options });
    this.#lanes = Array.from({ length: options.lanes }, async () => {
      while (!this.#isOver) {
        this.#begun++;
        // A call that is late does not delay those after it: the pace is counted from the beginning.
        if (options.perSecond !== undefined) await this.#untilDue(this.#begun / options.perSecond);
        const { tool, args } = options.make();
        try {
          const answer = await this.#client.call(tool, args);
          this.answered++;
          if (answer.isDone && answer.text === args.nonce) this.acknowledged.set(args.nonce, tool);
          else this.refused.push(answer);
        } catch (error) {
          if (error instanceof InVain) throw error;
          this.lost++;
          if (options.goesOn !== true) return;
        }
      }
    });
    // Told by stop(), which waits for them.
    for (const lane of this.#lanes) lane.catch(() => {});
  }

  /** How many calls were answered a second, in whatever way. */
  get rate(): number {
    return (this.answered * 1000) / (performance.now() - this.#startedAt);
  }

  async #untilDue(seconds: number): Promise<void> {
    const early = this.#startedAt + seconds * 1000 - performance.now();
    if (early > 0) await pause(early);
  }

  /** Waits until no call is under way; fails when one got no answer though its connection lasted. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
    this.#client.close();
  }
}

/** The nonce a row is about; rows show it in their preview. */
export function nonceOf({ preview }: Row): string | undefined {
  if (preview === undefined) return undefined;
  return /"nonce":"([^"]*)"/.exec(preview)?.[1];
}

/** Calls that were acknowledged although no row says that they were done. */
export function withoutRow(acknowledged: ReadonlyMap<string, string>, rows: readonly Row[]): string[] {
  const ended = new Set(
    rows.filter(({ kind, outcome }) => kind === 'outcome' && outcome === 'done').map(({ call }) => call),
  );
  const done = new Set<string | undefined>();
  for (const row of rows) {
    if (row.kind === 'call' && row.outcome === 'done') done.add(nonceOf(row));
    if (row.kind === 'intent' && ended.has(row.call)) done.add(nonceOf(row));
  }
  return [...acknowledged.keys()].filter((nonce) => !done.has(nonce));
}

/** Sequence numbers that a chain has twice. */
export function repeatedNumbers(rows: readonly Row[]): string[] {
  const seen = new Set<string>();
  return rows.flatMap(({ chain, seq }) => {
    const place = `${chain} ${seq}`;
    if (seen.has(place)) return [place];
    seen.add(place);
    return [];
  });
}

/** What is wrong with the record of effects: an effect without an intent, or an intent without exactly one outcome. */
export function effectsWithoutIntent(effects: readonly string[], rows: readonly Row[]): string[] {
  const intents = rows.filter(({ kind }) => kind === 'intent');
  const intended = new Set(intents.map(nonceOf));
  const endings = new Map<string | undefined, number>();
  for (const { kind, call } of rows) if (kind === 'outcome') endings.set(call, (endings.get(call) ?? 0) + 1);
  return [
    ...summarise(
      'effects without an intent',
      effects.filter((nonce) => !intended.has(nonce)),
    ),
    ...summarise('intents without an outcome', intents.filter(({ call }) => !endings.has(call)).map(nonceOf)),
    ...summarise(
      'intents with several outcomes',
      intents.filter(({ call }) => (endings.get(call) ?? 0) > 1).map(nonceOf),
    ),
  ];
}
