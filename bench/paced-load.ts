import { connect, type Socket } from 'node:net';
import { type BenchRequest, headersOf } from './requests.ts';

/** A load that comes at a given pace, however fast the answers are. */
export interface PacedLoad {
  readonly url: string;
  readonly request: BenchRequest;
  readonly connections: number;
  readonly seconds: number;
  readonly perSecond: number;
}

/** How long answers took, from the moment each request was due. */
export interface Latencies {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Puts a paced load on a target; other tools count in whole milliseconds, too coarse for the cost of a stage. */
export async function runPaced(load: PacedLoad): Promise<Latencies> {
  const { connections, seconds, perSecond } = load;
  const lines = await Promise.all(Array.from({ length: connections }, () => Connection.open(load)));
  const times: number[] = [];
  const dueTimes: number[] = [];
  const idle = [...lines];
  const sendDue = (): void => {
    while (idle.length > 0 && dueTimes.length > 0) {
      const line = idle.pop()!;
      const due = dueTimes.shift()!;
      line.send(() => {
        times.push(performance.now() - due);
        idle.push(line);
        sendDue();
      });
    }
  };
  const start = performance.now();
  const total = Math.round(perSecond * seconds);
  await new Promise<void>((resolve) => {
    let made = 0;
    const tick = setInterval(() => {
      const now = performance.now();
      const wanted = Math.min(total, Math.floor(((now - start) / 1000) * perSecond));
      for (; made < wanted; made++) dueTimes.push(now);
      sendDue();
      if (made < total || times.length < total) return;
      clearInterval(tick);
      resolve();
    }, 1);
  });
  for (const line of lines) line.close();
  times.sort((a, b) => a - b);
  return { requests: total, p50Ms: at(times, 0.5), p99Ms: at(times, 0.99) };
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const HEAD_END = '\r\n\r\n';

/** One connection that is kept open and carries one request at a time. */
class Connection {
  readonly #socket: Socket;
  readonly #bytes: Buffer;
  #received = '';
  #done: (() => void) | undefined;

  private constructor(socket: Socket, bytes: Buffer) {
    this.#socket = socket;
    this.#bytes = bytes;
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('error', (error) => {
      throw error;
    });
  }

  static async open({ url, request }: PacedLoad): Promise<Connection> {
    const { hostname, port, pathname, host } = new URL(url);
    const body = Buffer.from(request.body);
    const headers = { host, ...headersOf(request, 0), 'content-length': String(body.length) };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [`POST ${pathname} HTTP/1.1`, ...lines].join('\r\n') + HEAD_END;
    const socket = connect(Number(port), hostname);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Connection(socket, Buffer.concat([Buffer.from(head), body]));
  }

  send(done: () => void): void {
    this.#done = done;
    this.#socket.write(this.#bytes);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf(HEAD_END);
    if (end < 0) return;
    const length = /content-length: *(\d+)/i.exec(this.#received)?.[1];
    if (!this.#received.startsWith('HTTP/1.1 200') || length === undefined)
      throw new Error(`A paced request failed: ${this.#received.slice(0, 300)}`);
    if (this.#received.length < end + HEAD_END.length + Number(length)) return;
    this.#received = '';
    this.#done?.();
  }
}
