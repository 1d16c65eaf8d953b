import { accident, ToolcribError } from '../base/errors.ts';
import type { Log } from '../observe/log.ts';
import { encodeError } from '../protocol/wire/json-rpc.ts';
import { textOf, type Body } from './answer.ts';

/** Unexpected exceptions: each becomes one log entry, and one answer with the incident id of that entry. */
export class Accidents {
  readonly #log: Log;

  /** The log must not throw. */
  constructor(log: Log) {
    this.#log = log;
  }

  /** The error to answer with: one of ours as it is, anything else as an accident. */
  known(error: unknown): ToolcribError {
    return error instanceof ToolcribError ? error : this.report(error);
  }

  /** Logs what failed, and returns the error to answer with. */
  report(cause: unknown): ToolcribError {
    const error = accident('internal', 'The server failed unexpectedly', cause);
    this.#log('error', error.message, { incident: error.incident, cause });
    return error;
  }

  /** Does something; what it throws is logged. */
  contain(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.report(error);
    }
  }

  /** Sends an answer with `say`; one that cannot be sent becomes an internal error for the same message. */
  deliver(body: Body | undefined, idText: string | undefined, say: (text: string) => void): void {
    if (body === undefined) return;
    try {
      say(textOf(body));
    } catch (error) {
      const instead = encodeError(idText, this.report(error));
      try {
        say(instead);
      } catch {
        // The way to this client is broken, and the log says why.
      }
    }
  }
}
