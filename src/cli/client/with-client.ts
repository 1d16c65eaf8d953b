import { ToolcribError } from '../../base/errors.ts';
import { exactly } from '../../base/exact-json.ts';
import type { Client } from '../../client/client.ts';
import { RemoteError, SignInNeeded } from '../../client/errors.ts';
import { complain, valuesWithoutConcealed } from '../complain.ts';
import { formatExact } from '../table.ts';
import { exitCodeOf } from './exit-codes.ts';
import { watchInterrupts } from './interrupts.ts';
import { questionHandlers } from './questions.ts';
import type { Recorder } from './recording.ts';
import { findTarget, openTarget, type Meant, type OpenOptions, type ServerFlags } from './target.ts';

/** The work of a command with a server, and its options. */
export interface ServerTalk {
  readonly meant: Meant;
  readonly options?: OpenOptions;
  /** `signal` is aborted by Ctrl-C. */
  readonly talk: (client: Client, signal: AbortSignal) => Promise<void>;
}

/** Talks to a server; a failure is explained and gives the exit code, and nothing is left running. */
export async function withClient(conversation: ServerTalk): Promise<void> {
  const { meant, options = {}, talk } = conversation;
  const { flags } = meant;
  let recorder: Recorder | undefined;
  const interrupts = watchInterrupts();
  try {
    const handlers = questionHandlers();
    if (flags.record !== undefined) recorder = (await import('./recording.ts')).startRecording(flags.record);
    const traffic = recorder && { onMessage: recorder.onMessage };
    const client = await openTarget(await findTarget(meant), flags, { handlers, ...traffic, ...options });
    client.on('warning', complain);
    try {
      await talk(client, interrupts.begin());
    } finally {
      interrupts.end();
      await client.close();
    }
  } catch (error) {
    reportFailure(error, flags, meant.name);
  } finally {
    interrupts.stop();
    recorder?.close();
  }
}

/** Explains a failure to the person, and with `--json` also to a program; sets the exit code. */
export function reportFailure(
  error: unknown,
  { json = false }: Pick<ServerFlags, 'json'>,
  target = 'TARGET',
): void {
  if (!(error instanceof ToolcribError)) throw error;
  const own = { code: error.code, message: error.message };
  complain(explain(error, target));
  const said = error.data && (exactly(error.data) as object);
  // What a server adds must not take the place of what failed. Output for programs ends up in logs as well.
  const facts = { ...own, ...said, ...own };
  if (json) process.stdout.write(formatExact({ error: valuesWithoutConcealed(facts) }, ''));
  process.exitCode = exitCodeOf(error);
}

/** A failure in words for a person: also what a program said last, and how to sign in. */
export function explain(error: ToolcribError, target = 'TARGET'): string {
  const said = lastWordsOf(error);
  return [
    error instanceof RemoteError ? `The server answered with an error: ${error.message}` : error.message,
    ...(said === undefined ? [] : [said]),
    ...(error instanceof SignInNeeded
      ? [`Run toolcrib login ${target}, or give a credential with --key or --header.`]
      : []),
  ].join('\n');
}

/** What a program wrote to its error output before it ended, or instead of an answer. */
export function lastWordsOf({ code, cause }: ToolcribError): string | undefined {
  const isSilent = code === 'upstream_unavailable' || code === 'timed_out';
  return isSilent && isLastWords(cause) ? cause.message : undefined;
}

// Other causes are errors of the network, which the message names.
function isLastWords(cause: unknown): cause is Error {
  return cause instanceof Error && cause.constructor === Error && !('code' in cause);
}
