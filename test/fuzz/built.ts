import { writeFileSync } from 'node:fs';
import { Crib, type Serving } from '../faults/crib.ts';
import { oddTools } from '../faults/odd-tools.ts';
import { eventually } from '../faults/scenario.ts';
import { CASE_MS, type Problem, type Step } from './case.ts';
import { handshake, handshakes } from './messages.ts';
import { fillIn } from './ways.ts';
import { Wire } from './wire.ts';

/** The built command in a process of its own, with a key, sessions and an old stream. */
export class Built {
  readonly #crib = new Crib({
    server: { sse: true },
    auth: { keys: {} },
    access: [{ roles: ['tester'], tools: ['*'], prompts: ['*'], resources: ['*'] }],
  });
  #serving: Serving | undefined;
  #isOver = false;
  readonly #known = new Map<string, string>();
  #old: Wire | undefined;

  private constructor() {
    writeFileSync(this.#crib.path('tools/odd-tools.mjs'), oddTools());
  }

  /** Starts it; `sabotage` is the text of a module that breaks the server from within. */
  static async start(sabotage?: string): Promise<Built> {
    const built = new Built();
    if (sabotage !== undefined) writeFileSync(built.#crib.path('tools/sabotage.mjs'), sabotage);
    const [admitted] = await built.#crib.admit([{ tenant: 'acme', caller: 'ada' }]);
    built.#known.set('key', admitted!.key);
    await built.renew();
    return built;
  }

  get port(): number {
    return this.#serving!.port;
  }

  get descriptors(): number {
    return this.#serving!.descriptors;
  }

  /** Starts it if it is gone or going, and opens its sessions anew. */
  async renew(): Promise<void> {
    if (!this.#serving || this.decline() !== undefined) {
      await this.#serving?.kill();
      const serving = await this.#crib.start();
      this.#serving = serving;
      this.#isOver = false;
      void serving.exit.then(() => (this.#isOver ||= this.#serving === serving));
      this.#known.set('host', `127.0.0.1:${serving.port}`);
    }
    for (const version of handshakes) {
      const { body, headers } = handshake(version);
      const reply = await this.#exchange({ body: Buffer.from(JSON.stringify(body)), headers });
      this.#known.set(`session ${version}`, /^mcp-session-id: (.*?)\r?$/im.exec(reply)?.[1] ?? 'none');
    }
    await this.#beginStreams();
  }

  /** Why it is gone, or going; `undefined` while it serves. */
  decline(): Problem | undefined {
    const { log } = this.#serving!;
    const at = log.indexOf('failed outside of any call');
    if (at >= 0) return { kind: 'the server ended', text: log.slice(at, at + 2_000) };
    return this.#isOver ? { kind: 'the server ended', text: log.slice(-2_000) } : undefined;
  }

  /** The bytes of a step. */
  bytesOf({ line = 'POST /mcp', headers, body }: Step): Buffer {
    if (line === '') return Buffer.from(fillIn(body.toString('latin1'), this.#known), 'latin1');
    const isFramed = 'content-length' in headers || 'transfer-encoding' in headers;
    const fields = {
      host: '{host}',
      authorization: 'Bearer {key}',
      accept: 'application/json, text/event-stream',
      ...(body.length > 0 && { 'content-type': 'application/json' }),
      ...(body.length > 0 && !isFramed && { 'content-length': String(body.length) }),
      ...headers,
    };
    const lines = [`${line} HTTP/1.1`, ...Object.entries(fields).map((field) => field.join(': ')), '', ''];
    return Buffer.concat([Buffer.from(fillIn(lines.join('\r\n'), this.#known), 'latin1'), body]);
  }

  async close(): Promise<void> {
    this.#old?.hangUp();
    await this.#crib.close();
  }

  // An event to resume a stream after, and a stream of the first HTTP transport, which has a path for messages.
  async #beginStreams(): Promise<void> {
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'chatty', arguments: {}, _meta: { progressToken: 1 } },
    };
    const headers = { 'mcp-session-id': '{session 2025-11-25}', 'mcp-protocol-version': '2025-11-25' };
    const stream = await this.#exchange({ body: Buffer.from(JSON.stringify(call)), headers });
    this.#known.set('event', /^id: (.*)$/m.exec(stream)?.[1] ?? 'none');
    this.#old?.hangUp();
    const old = new Wire(this.port);
    this.#old = old;
    old.write(this.bytesOf({ line: 'GET /sse', headers: {}, body: Buffer.alloc(0) }));
    await eventually('the old stream begins', () => old.begun?.text.includes('data: ') ?? false);
    this.#known.set('messages', /^data: (.*)$/m.exec(old.begun!.text)![1]!);
  }

  async #exchange(step: Step): Promise<string> {
    const wire = new Wire(this.port);
    wire.sent = 1;
    wire.write(this.bytesOf(step));
    const isAnswered = await wire.answered(5 * CASE_MS);
    wire.hangUp();
    if (!isAnswered || !wire.replies[0]) throw new Error(`No answer to ${step.body.toString()}`);
    return `${wire.replies[0].head}\n${wire.replies[0].text}`;
  }
}
