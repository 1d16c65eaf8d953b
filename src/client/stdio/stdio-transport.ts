import { ToolcribError } from '../../base/errors.ts';
import { startChild, type Child, type ChildPlan } from '../../net/processes/child.ts';
import { encodeNotification } from '../../protocol/wire/json-rpc.ts';
import { LineReader } from '../../protocol/wire/line-reader.ts';
import { ProgramEnded } from '../errors.ts';
import type { PendingRequest } from '../pending-request.ts';
import type { TransportNeeds } from '../peer.ts';
import type { Transport } from '../transport.ts';

// How much is held for a program that does not read its input.
const MAX_UNREAD_BYTES = 64 * 1_048_576;

/** A server that is a program of ours, spoken to line by line. */
export class StdioTransport implements Transport {
  readonly label: string;
  readonly #plan: ChildPlan;
  readonly #needs: TransportNeeds;
  #child: Child;
  #hasEnded = false;
  #isClosed = false;
  #waiting = '';

  constructor(plan: ChildPlan, needs: TransportNeeds) {
    this.label = labelOf(plan);
    this.#plan = plan;
    this.#needs = needs;
    this.#child = this.#start();
  }

  agree(): void {}

  send(pending: PendingRequest): void {
    try {
      this.#write(pending.outgoing.body);
    } catch (error) {
      pending.fail(error);
    }
  }

  async post(text: string): Promise<void> {
    this.#write(text);
  }

  abandon({ outgoing: { id, method } }: PendingRequest, reason: string): string | undefined {
    if (method === 'initialize' || this.#hasEnded) return undefined;
    return encodeNotification('notifications/cancelled', { requestId: id, reason });
  }

  async restart(): Promise<boolean> {
    if (!this.#hasEnded || this.#isClosed) return false;
    await this.#child.close();
    // It may have been closed meanwhile, and nobody would end another one.
    if (this.#isClosed) return false;
    this.#child = this.#start();
    // Last: where it could not be started again, it has still ended.
    this.#hasEnded = false;
    this.#waiting = '';
    return true;
  }

  errorText(): string {
    return lastLines(this.#child.errorText().trim());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#flush();
    await this.#child.close();
  }

  #start(): Child {
    const child = started(this.#plan, this.label);
    const lines = new LineReader(
      this.#needs.limits.messageBytes,
      (line) => this.#needs.receiver().receive(line, undefined),
      () => this.#needs.onWarning(`${this.label} wrote a line that is too long; it is skipped.`),
    );
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
    void child.ended.then((how) => {
      if (child !== this.#child) return;
      this.#hasEnded = true;
      if (!this.#isClosed) this.#needs.receiver().lost(this.#gone(how));
    });
    return child;
  }

  #write(text: string): void {
    const { stdin } = this.#child;
    if (this.#hasEnded) throw this.#gone('has ended');
    if (stdin.writableLength + this.#waiting.length > MAX_UNREAD_BYTES)
      throw new ToolcribError('busy', `${this.label} does not read what it is sent.`);
    // All messages of one turn are one write: a write costs as much as the rest of a call.
    if (this.#waiting === '') process.nextTick(() => this.#flush());
    this.#waiting += `${text}\n`;
  }

  #flush(): void {
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '' && !this.#hasEnded) this.#child.stdin.write(text);
  }

  #gone(how: string): ToolcribError {
    return new ProgramEnded(`${this.label} ${how}.`, this.errorText());
  }
}

// The system may refuse at once, such as for want of memory.
function started(plan: ChildPlan, label: string): Child {
  try {
    return startChild(plan);
  } catch (error) {
    throw new ProgramEnded(`${label} could not be started.`, String(error));
  }
}

const MAX_LABEL = 200;
const MAX_SAID = 2_000;

// Known secrets are removed where this is shown, and half a secret would be missed: no word is cut.
function labelOf({ command, args }: ChildPlan): string {
  const words = [command.slice(-MAX_LABEL)];
  let length = words[0]!.length;
  for (const word of args) {
    length += 1 + word.length;
    if (length > MAX_LABEL) return [...words, '…'].join(' ');
    words.push(word);
  }
  return words.join(' ');
}

// Whole lines, for the same reason.
function lastLines(text: string): string {
  if (text.length <= MAX_SAID) return text;
  const start = text.indexOf('\n', text.length - MAX_SAID - 1);
  return start < 0 ? '' : text.slice(start + 1);
}
