import { spawn } from 'node:child_process';
import { Pool } from 'undici';
import { modernMeta } from '../requests.ts';
import { peerProgram, type Caller, type Connect } from './peer.ts';

/** The least that speaks the protocol: writes a request, parses the answer, and checks nothing. */
export const connectBare: Connect = async ({ url }) =>
  url === undefined ? overStdio() : overHttp(new URL(url));

const headers = [
  ['accept', 'application/json, text/event-stream'],
  ['content-type', 'application/json'],
  ['mcp-protocol-version', '2026-07-28'],
  ['mcp-method', 'tools/call'],
  ['mcp-name', 'echo'],
].flat();

function overHttp({ origin, pathname }: URL): Caller {
  const pool = new Pool(origin, { connections: 128 });
  let lastId = 0;
  return {
    call: (text) =>
      new Promise((resolve, reject) => {
        const body = requestText(++lastId, text);
        pool.dispatch({ path: pathname, method: 'POST', headers, body }, new Answered(resolve, reject));
      }),
  };
}

// In the form that undici calls without anything in between.
class Answered {
  readonly #chunks: Buffer[] = [];
  readonly #resolve: (text: string) => void;
  readonly onError: (error: Error) => void;

  constructor(resolve: (text: string) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.onError = reject;
  }

  onConnect(): void {}

  onHeaders(): boolean {
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    return true;
  }

  onComplete(): void {
    this.#resolve(textOf(Buffer.concat(this.#chunks).toString()).text);
  }
}

function overStdio(): Caller {
  const { stdin, stdout } = spawn(process.execPath, [peerProgram], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (text: string) => void>();
  let lastId = 0;
  let rest = '';
  stdout.setEncoding('utf8');
  stdout.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { id, text } = textOf(line);
      waiting.get(id)?.(text);
      waiting.delete(id);
    }
  });
  return {
    call: (text) =>
      new Promise((resolve) => {
        waiting.set(++lastId, resolve);
        stdin.write(`${requestText(lastId, text)}\n`);
      }),
  };
}

function requestText(id: number, text: string): string {
  const params = { name: 'echo', arguments: { text }, _meta: modernMeta };
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
}

function textOf(answer: string): { readonly id: number; readonly text: string } {
  const { id, result } = JSON.parse(answer) as {
    readonly id: number;
    readonly result: { readonly content: readonly { readonly text: string }[] };
  };
  return { id, text: result.content[0]?.text ?? '' };
}
