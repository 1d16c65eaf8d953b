import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cli, Crib } from '../faults/crib.ts';
import { oddTools } from '../faults/odd-tools.ts';
import { CASE_MS, type Problem, type Way } from './case.ts';
import { judge } from './verdict.ts';
import { mutatedMessage, unanswered } from './ways.ts';
import { isRequest } from './well-formed.ts';

/** Mutated messages to the built command as lines, one after the other: what is answered in between belongs to it. */
export async function byStdio(): Promise<Way> {
  const crib = new Crib();
  writeFileSync(crib.path('tools/odd-tools.mjs'), oddTools());
  let lines = new Lines(crib);
  await lines.until(() => lines.isReady);
  let last = FIRST_ID;
  return {
    name: 'stdio',
    atOnce: 1,
    make: mutatedMessage,
    async attempt({ steps: [step] }) {
      const id = ++last;
      const body = lineOf(step!.body, id);
      const marker = `marker-${id}`;
      lines.list.length = 0;
      lines.write(Buffer.concat([body, Buffer.from(`\n${markerLine(marker)}\n`)]));
      const isMarker = (line: string): boolean => line.includes(`"id":"${marker}"`);
      // What the server says or asks of its own accord is no answer, but it may be all that comes for now.
      const answers = (): string[] =>
        lines.list.filter((line) => !isMarker(line) && !line.includes('"method":') && !isOfOther(line, id));
      const isOpen = (): boolean => lines.list.some((line) => OPENINGS.test(line));
      const isOver = (): boolean =>
        lines.list.some(isMarker) && (!isRequest(body) || answers().length > 0 || isOpen());
      if (!(await lines.until(isOver))) return [lines.decline() ?? unanswered];
      const text = answers().join('\n');
      // A line of nothing is no message.
      if (text === '' && body.toString('latin1').trim() === '') return [];
      return judge(body, { status: text === '' ? 202 : 200, text });
    },
    accidents() {
      const decline = lines.decline();
      return decline ? [decline] : [];
    },
    async renew() {
      if (!lines.decline()) return;
      await lines.close();
      lines = new Lines(crib);
      await lines.until(() => lines.isReady);
    },
    async close() {
      await lines.close();
      await crib.close();
    },
  };
}

const FIRST_ID = 1_000_000_000;

// A question to the client, which waits for its answer, and the beginning of a subscription.
const OPENINGS = /"method":"(?:elicitation\/create|notifications\/subscriptions\/acknowledged)"/;

// A line ends where a message does; the id says later whom an answer is for.
function lineOf(body: Buffer, id: number): Buffer {
  const text = body
    .toString('latin1')
    .replace('"id":1,', `"id":${id},`)
    .replaceAll(/[\r\n]/g, ' ');
  return Buffer.from(text, 'latin1');
}

// What an earlier line was waiting for may come at any time; small numbers are those of the messages themselves.
function isOfOther(line: string, id: number): boolean {
  const own = Number(/^\{"jsonrpc":"2\.0","id":(\d+)/.exec(line)?.[1] ?? id);
  return own > FIRST_ID && own < id;
}

function markerLine(id: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' });
}

/** The built command over standard input and output, and the lines that came since they were last taken away. */
class Lines {
  readonly list: string[] = [];
  isReady = false;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #isOver = false;
  #log = '';
  #rest = '';
  #look: () => void = () => {};

  constructor(crib: Crib) {
    const args = [cli, 'serve', '--stdio', '--config', crib.path('toolcrib.yaml')];
    this.#child = spawn(process.execPath, args, { stdio: 'pipe' });
    this.#ended = once(this.#child, 'close').then(() => {
      this.#isOver = true;
      this.#look();
    });
    this.#child.stdin!.on('error', () => {});
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${this.#rest}${text}`.split('\n');
      this.#rest = lines.pop()!;
      this.list.push(...lines);
      this.isReady = true;
      this.#look();
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#log = `${this.#log}${text}`.slice(-100_000);
      this.#look();
    });
    // It answers as soon as it has started.
    this.write(Buffer.from(`${markerLine('first')}\n`));
  }

  write(bytes: Buffer): void {
    this.#child.stdin!.write(bytes);
  }

  /** Why it is gone, or going; `undefined` while it serves. */
  decline(): Problem | undefined {
    const at = this.#log.indexOf('failed outside of any call');
    if (at >= 0) return { kind: 'the server ended', text: this.#log.slice(at, at + 2_000) };
    return this.#isOver ? { kind: 'the server ended', text: this.#log.slice(-2_000) } : undefined;
  }

  /** Waits until the lines are as they should be; false when that does not come about. */
  until(isSo: () => boolean): Promise<boolean> {
    const limitMs = this.isReady ? CASE_MS : 10 * CASE_MS;
    return new Promise((resolve) => {
      const end = (isFine: boolean): void => {
        clearTimeout(timer);
        this.#look = () => {};
        resolve(isFine);
      };
      const timer = setTimeout(() => end(false), limitMs);
      this.#look = () => {
        if (isSo()) end(true);
        else if (this.decline()) end(false);
      };
      this.#look();
    });
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
