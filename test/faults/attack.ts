import { Wire } from '../fuzz/wire.ts';
import { OldStream } from './old-stream.ts';
import { rawRequest } from './raw-request.ts';
import { pause } from './scenario.ts';

/** A request of an attack. */
export interface Parts {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** In the place of a key of the hostile tenant. */
  readonly key?: string;
  /** `POST` unless set. */
  readonly method?: string;
  /** Whether the response is never read. */
  readonly isUnread?: boolean;
}

/** How hard something is sent: over so many connections, and so often at most. */
export interface Effort {
  readonly lanes: number;
  readonly perSecond?: number;
}

// One that is not answered for so long is given up and made anew.
const PATIENCE_MS = 20_000;
const TURN_MS = 100;

/** Sends what it is given, in one of several manners, until it is over; counts what came back. */
export class Attack {
  readonly #port: number;
  readonly #keys: readonly string[];
  readonly #startedAt = performance.now();
  readonly #open = new Set<Wire>();
  isOver = false;
  /** How many requests went out. */
  sent = 0;
  /** What came back, by status; 0 for connections that were closed, or on which nothing came in time. */
  readonly statuses = new Map<number, number>();
  /** How many answers were streams that began, and so were not refused. */
  streams = 0;
  /** How many answers said that it was too much. */
  limited = 0;

  constructor(port: number, keys: readonly string[]) {
    this.#port = port;
    this.#keys = keys;
  }

  /** Sends requests and reads the answers, each lane one after the other. */
  async send({ lanes, perSecond }: Effort, make: (index: number) => Parts): Promise<void> {
    let last = 0;
    await this.#inLanes(lanes, async (wire, lane) => {
      const index = last++;
      if (perSecond !== undefined) await this.#untilDue(index / perSecond);
      return this.#ask(wire, make(index), lane);
    });
  }

  /** Opens connections that stay open, and opens those again that are closed. */
  async hold(count: number, make: () => Parts): Promise<void> {
    while (!this.isOver) {
      for (const wire of this.#open) if (wire.isClosed) this.#open.delete(wire);
      for (let more = Math.min(count - this.#open.size, 100); more > 0; more--) {
        const wire = this.#connect();
        const parts = make();
        this.#write(wire, parts, this.sent);
        if (parts.isUnread) wire.pause();
        void wire.until(() => wire.begun !== undefined, PATIENCE_MS).then(() => this.#note(wire));
      }
      await pause(TURN_MS);
    }
  }

  /** Sends large requests and hangs up in the middle of them, or right behind. */
  async leave(lanes: number, make: (index: number) => Parts): Promise<void> {
    let last = 0;
    await this.#inLanes(lanes, async (wire, lane) => {
      const index = last++;
      const parts = make(index);
      const isHalf = index % 2 === 0;
      const body = isHalf ? parts.body.subarray(0, parts.body.length / 2) : parts.body;
      const headers = { ...parts.headers, 'content-length': String(parts.body.length) };
      this.#write(wire, { ...parts, headers, body }, lane);
      await wire.flushed();
      wire.hangUp();
      return false;
    });
  }

  /** Calls a tool that asks, and answers it again and again. */
  async converse(lanes: number, make: (state: object) => Parts): Promise<void> {
    const states = new Map<number, object>();
    await this.#inLanes(lanes, async (wire, lane) => {
      const isAnswered = await this.#ask(wire, make(states.get(lane) ?? {}), lane);
      const text = wire.last?.text ?? '';
      const requestState = /"requestState":"([^"]*)"/.exec(text)?.[1];
      const name = /"(sure\d+)":/.exec(text)?.[1] ?? 'sure';
      const inputResponses = { [name]: { action: 'accept', content: { yes: true } } };
      states.set(lane, requestState === undefined ? {} : { requestState, inputResponses });
      if (requestState === undefined) await pause(TURN_MS);
      return isAnswered;
    });
  }

  /** Opens sessions, calls on them, and comes back to their streams in the middle. */
  async follow(
    lanes: number,
    { handshake, call }: { readonly handshake: Parts; readonly call: Parts },
  ): Promise<void> {
    await this.#inLanes(lanes, async (wire, lane) => {
      await this.#ask(wire, handshake, lane);
      const session = sessionIn(wire);
      const own = { ...call.headers, 'mcp-session-id': session };
      const isAnswered = await this.#ask(wire, { ...call, headers: own }, lane);
      const events = [...(wire.last?.text ?? '').matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
      const stream = this.#connect();
      const middle = events[Math.floor(events.length / 2)];
      const headers = { ...own, ...(middle !== undefined && { 'last-event-id': middle }) };
      this.#write(stream, { method: 'GET', body: Buffer.alloc(0), headers }, lane);
      await stream.until(() => stream.begun !== undefined, PATIENCE_MS);
      stream.hangUp();
      await pause(TURN_MS);
      return isAnswered;
    });
  }

  /** Opens streams of 2024-11-05, and posts beside them. */
  async beside(lanes: number, make: (index: number) => Parts): Promise<void> {
    let last = 0;
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        while (!this.isOver) {
          const key = this.#keys[lane % this.#keys.length]!;
          const stream = new OldStream({ port: this.#port, key, connect: () => this.#connect() });
          if (await stream.open()) this.streams++;
          else await pause(TURN_MS);
          for (let isOfUse = true; isOfUse && !this.isOver;) {
            this.sent++;
            const answer = await stream.ask(make(last++).body, PATIENCE_MS);
            isOfUse = answer !== undefined;
            this.#count(isOfUse ? 200 : 0, answer ?? '');
          }
          stream.hangUp();
        }
      }),
    );
  }

  /** Opens a session a lane, and sends requests on it. */
  async within(lanes: number, handshake: Parts, make: (index: number) => Parts): Promise<void> {
    const sessions = new Map<number, string>();
    let last = 0;
    await this.#inLanes(lanes, async (wire, lane) => {
      const session = sessions.get(lane);
      if (session === undefined) {
        await this.#ask(wire, handshake, lane);
        sessions.set(lane, sessionIn(wire));
        return true;
      }
      const parts = make(last++);
      return this.#ask(wire, { ...parts, headers: { ...parts.headers, 'mcp-session-id': session } }, lane);
    });
  }

  /** Ends everything. */
  stop(): void {
    this.isOver = true;
    for (const wire of this.#open) wire.hangUp();
    this.#open.clear();
  }

  // A lane keeps its connection for as long as it is of use.
  async #inLanes(lanes: number, once: (wire: Wire, lane: number) => Promise<boolean>): Promise<void> {
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        let wire = this.#connect();
        while (!this.isOver) {
          const isOfUse = await once(wire, lane);
          if (isOfUse && !wire.isClosed) continue;
          wire.hangUp();
          this.#open.delete(wire);
          // A server that refuses connections is not asked again at once.
          if (wire.isRefused) await pause(TURN_MS);
          wire = this.#connect();
        }
      }),
    );
  }

  #connect(): Wire {
    const wire = new Wire(this.#port);
    this.#open.add(wire);
    return wire;
  }

  async #ask(wire: Wire, parts: Parts, lane: number): Promise<boolean> {
    wire.sent = 1;
    wire.replies.length = 0;
    this.#write(wire, parts, lane);
    const isAnswered = await wire.answered(PATIENCE_MS, true);
    this.#note(wire);
    return isAnswered && !wire.isStream;
  }

  #note(wire: Wire): void {
    const reply = wire.last ?? wire.begun;
    if (wire.isStream) this.streams++;
    this.#count(reply?.status ?? 0, reply?.text ?? '');
  }

  #count(status: number, text: string): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    if (status === 429 || status === 503 || /-32\d+,"message":"(?:Too many|At most)/.test(text))
      this.limited++;
  }

  #write(wire: Wire, { body, headers, key, method = 'POST' }: Parts, lane: number): void {
    this.sent++;
    const own = key ?? this.#keys[lane % this.#keys.length];
    wire.write(rawRequest({ port: this.#port, key: own, method, headers, length: body.length }));
    if (body.length > 0) wire.write(body);
  }

  async #untilDue(seconds: number): Promise<void> {
    const early = this.#startedAt + seconds * 1000 - performance.now();
    if (early > 0) await pause(early);
  }
}

function sessionIn(wire: Wire): string {
  return /^mcp-session-id: (.*?)\r?$/im.exec(wire.last?.head ?? '')?.[1] ?? 'none';
}
