import type { ChildProcess } from 'node:child_process';
import { callMessage } from './requests.ts';

/** How many calls to send, and how many may be under way at once. */
export interface StdioLoad {
  readonly calls: number;
  readonly window: number;
}

/** Sends pipelined calls of `echo` and returns how many seconds all answers took. */
export function pipeline(name: string, child: ChildProcess, { calls, window }: StdioLoad): Promise<number> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('A stdio target is started with pipes.');
  return new Promise((resolve, reject) => {
    let sent = 0;
    let answered = 0;
    const send = (count: number): void => {
      let lines = '';
      for (const last = Math.min(calls, sent + count); sent < last; sent++) lines += callLine(sent);
      if (lines !== '') stdin.write(lines);
    };
    const end = (error?: Error): void => {
      clearTimeout(limit);
      stdout.off('data', read);
      child.off('exit', gone);
      if (error === undefined) resolve((performance.now() - start) / 1e3);
      else reject(error);
    };
    const read = (chunk: Buffer): void => {
      if (chunk.includes('"error":'))
        return end(new Error(`${name} answered with an error: ${chunk.toString().slice(0, 300)}`));
      const lines = countLines(chunk);
      answered += lines;
      if (answered >= calls) return end();
      send(lines);
    };
    const gone = (): void => end(new Error(`${name} ended before it had answered every call.`));
    const limit = setTimeout(() => end(new Error(`${name} took over a minute.`)), 60_000);
    const start = performance.now();
    stdout.on('data', read);
    child.once('exit', gone);
    send(window);
  });
}

/** Sends one call and returns the line that answers it. */
export function callOnce(child: ChildProcess): Promise<string> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('A stdio target is started with pipes.');
  return new Promise((resolve, reject) => {
    let answer = '';
    const gone = (): void => reject(new Error('The target ended before it answered.'));
    const read = (chunk: Buffer): void => {
      answer += chunk.toString();
      if (!answer.endsWith('\n')) return;
      stdout.off('data', read);
      child.off('exit', gone);
      resolve(answer);
    };
    stdout.on('data', read);
    child.once('exit', gone);
    stdin.write(callLine(0));
  });
}

const NEWLINE = 10;
const [lineStart, lineEnd] = JSON.stringify(callMessage(0, 'echo', '2026-07-28')).split('"id":0');

function callLine(id: number): string {
  return `${lineStart}"id":${id}${lineEnd}\n`;
}

function countLines(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}
