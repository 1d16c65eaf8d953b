import { openGoverned } from '../faults/governed.ts';
import type { Random } from '../faults/scenario.ts';
import { InVain, within } from '../within.ts';
import { CASE_MS, single, type FuzzCase, type Problem, type Reply, type Step, type Way } from './case.ts';
import { handshake, handshakes, mutated } from './messages.ts';
import { judge } from './verdict.ts';

/** A case of one mutated message. */
export function mutatedMessage(random: Random): FuzzCase {
  return { steps: [mutated(random)], ending: 'answered' };
}

/** What became of a case that nothing came back for in time. */
export const unanswered: Problem = { kind: 'no answer', text: `within ${CASE_MS} ms` };

/** Replaces the placeholders of sessions by their ids. */
export function fillIn(text: string, known: ReadonlyMap<string, string>): string {
  return text.includes('{')
    ? text.replaceAll(/\{([\w -]+)\}/g, (whole, name: string) => known.get(name) ?? whole)
    : text;
}

/** Straight into a server in this process, as another program embeds it. */
export async function byFetch(): Promise<Way> {
  let site = await openGoverned();
  const sessions = new Map<string, string>();
  const failed: Problem[] = [];
  const note = (reason: unknown): void =>
    void failed.push({ kind: 'not handled', text: String((reason as Error | undefined)?.stack ?? reason) });
  process.on('unhandledRejection', note).on('uncaughtException', note);
  const ask = async (step: Step): Promise<Reply> => {
    const response = await site.server.fetch(toRequest(step, sessions));
    const isOpen = step.isStream && response.headers.get('content-type') === 'text/event-stream';
    if (isOpen) await response.body?.cancel();
    return { status: response.status, text: isOpen ? '' : await response.text() };
  };
  const begin = async (): Promise<void> => {
    for (const version of handshakes) {
      const { body, headers } = handshake(version);
      const { steps } = single(Buffer.from(JSON.stringify(body)), headers);
      const response = await site.server.fetch(toRequest(steps[0]!, sessions));
      sessions.set(`session ${version}`, response.headers.get('mcp-session-id') ?? 'none');
      await response.text();
    }
  };
  await begin();
  return {
    name: 'fetch',
    atOnce: 64,
    make: mutatedMessage,
    async attempt({ steps }) {
      const step = steps[0]!;
      try {
        return judge(step.body, await within(CASE_MS, 'an answer', ask(step)));
      } catch (error) {
        return [
          error instanceof InVain
            ? unanswered
            : { kind: 'fetch failed', text: String((error as Error).stack) },
        ];
      }
    },
    accidents: () => failed.splice(0),
    async renew() {
      await site.close();
      site = await openGoverned();
      await begin();
    },
    async close() {
      process.off('unhandledRejection', note).off('uncaughtException', note);
      await site.close();
    },
  };
}

function toRequest({ body, headers }: Step, sessions: ReadonlyMap<string, string>): Request {
  const own = Object.entries(headers).map(([name, value]) => [name, fillIn(value, sessions)]);
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    body: new Uint8Array(body),
    headers: {
      host: '127.0.0.1',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(Object.fromEntries(own) as Record<string, string>),
    },
  });
}
