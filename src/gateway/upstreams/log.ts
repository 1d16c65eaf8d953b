import type { Clock } from '../../base/clock.ts';
import { cleanText } from '../../observe/clean-text.ts';
import type { Log, LogLevel } from '../../observe/log.ts';
import type { Secrets } from '../../observe/secrets.ts';

/** What the log of an upstream is made with. */
export interface UpstreamLogParts {
  readonly name: string;
  readonly log: Log;
  readonly live: Secrets;
  readonly clock: Clock;
}

// What one upstream may fill the log with, all its processes together.
const WINDOW_MS = 60_000;
const MAX_BYTES = 65_536;
const MAX_ENTRIES = 200;
const MAX_LINE = 4_096;
// A line without an end is not waited for any longer.
const FLUSH_MS = 1_000;

/** Writes texts of an upstream to the log: without invisible characters and secrets, and up to a limit. */
export class UpstreamLog {
  readonly #parts: UpstreamLogParts;
  #windowEnds = -Infinity;
  #bytes = 0;
  #entries = 0;
  #leftOut = 0;

  constructor(parts: UpstreamLogParts) {
    this.#parts = parts;
  }

  /** Logs a message of ours about the upstream, which may hold words of its own. */
  say(level: LogLevel, message: string, text?: string): void {
    const { log, name } = this.#parts;
    const words = text === undefined ? '' : this.clean(text);
    const whole = this.clean(message);
    if (!this.#mayWrite(whole.length + words.length)) return;
    log(level, whole, { upstream: name, ...(words !== '' && { text: words }) });
  }

  /** Text as it may be shown to an operator. */
  clean(text: string): string {
    // Redacted after cleaning and before cutting.
    const safe = this.#parts.live.redact(cleanText(text));
    return safe.length > MAX_LINE ? `${safe.slice(0, MAX_LINE)} [cut]` : safe;
  }

  /** Takes the error output of one process, piece by piece, and logs it line by line. */
  errorOutput(): (text: string) => void {
    const message = `${this.#parts.name} wrote to its error output.`;
    let rest = '';
    let cancel: (() => void) | undefined;
    const flush = (): void => {
      cancel = undefined;
      const text = rest;
      rest = '';
      if (text.trim() !== '') this.say('info', message, text);
    };
    return (piece) => {
      if (this.#isFull(piece.length)) {
        rest = '';
        return;
      }
      const lines = (rest + piece).split('\n');
      rest = lines.pop()!.slice(0, 2 * MAX_LINE);
      for (const line of lines) if (line.trim() !== '') this.say('info', message, line);
      cancel?.();
      cancel = rest === '' ? undefined : this.#parts.clock.after(FLUSH_MS, flush);
    };
  }

  // Looked at before anything is cleaned: a flood must cost little.
  #isFull(bytes: number): boolean {
    this.#openWindow();
    if (this.#bytes < MAX_BYTES && this.#entries < MAX_ENTRIES) return false;
    this.#leftOut += bytes;
    return true;
  }

  #mayWrite(bytes: number): boolean {
    if (this.#isFull(bytes)) return false;
    this.#bytes += bytes;
    this.#entries++;
    return true;
  }

  #openWindow(): void {
    const { clock, log, name } = this.#parts;
    const now = clock.ticks();
    if (now < this.#windowEnds) return;
    const leftOut = this.#leftOut;
    this.#windowEnds = now + WINDOW_MS;
    this.#bytes = this.#entries = this.#leftOut = 0;
    if (leftOut > 0)
      log('warn', `${name} wrote too much: ${leftOut} bytes of it are not in the log.`, { upstream: name });
  }
}
