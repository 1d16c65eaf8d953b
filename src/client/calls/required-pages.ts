import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Received } from '../../protocol/decode/received.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { RemoteError } from '../errors.ts';
import type { ServerQuestions } from '../server-questions.ts';
import { pause, type RoundParts } from './rounds.ts';

/** What pages are visited with. */
export interface VisitParts extends Omit<RoundParts, 'questions'> {
  readonly questions: Pick<ServerQuestions, 'answerAll' | 'visitsPages'>;
}

const PAGE_REQUIRED = -32042;
const LONGEST_PAUSE_MS = 5_000;

/** The pages that a server of 2025-11-25 wants visited before it is called again; `undefined` where it names none. */
export function requiredPages({ number, data }: RemoteError): readonly JsonObject[] | undefined {
  const pages = number === PAGE_REQUIRED ? data?.['elicitations'] : undefined;
  return Array.isArray(pages) && pages.length > 0 && pages.every(isObject) ? pages : undefined;
}

/** Refuses to go on if a person did not want to visit a page. */
export function checkVisits(answers: Iterable<unknown>): void {
  for (const answer of answers)
    if (isObject(answer) && (answer['action'] === 'decline' || answer['action'] === 'cancel'))
      throw new ToolcribError('cannot_ask', 'The page that this needs was not opened.');
}

/**
 * Sends a request again once the pages were visited that the server asked for instead of an answer; any other error is
 * thrown as it is. Nobody is asked twice for the same page: the person may still be busy with it.
 */
export async function afterPages(
  refusal: unknown,
  send: () => Promise<Received>,
  { questions, maxRounds, signal, clock }: VisitParts,
): Promise<Received> {
  const visited = new Set<unknown>();
  let error = refusal;
  for (let round = 1; ; round++) {
    const pages = error instanceof RemoteError && questions.visitsPages ? requiredPages(error) : undefined;
    if (!pages) throw error;
    if (round > maxRounds)
      throw new ToolcribError('cannot_ask', `The server asked for pages in more than ${maxRounds} rounds.`);
    const asked = pages.filter((page) => !visited.has(nameOf(page)));
    const params = asked.map((page, index) => [`page-${index + 1}`, question(page)] as const);
    if (asked.length === 0) await pause(clock, Math.min(LONGEST_PAUSE_MS, 100 * 2 ** round), signal);
    else checkVisits(Object.values(await questions.answerAll(Object.fromEntries(params), signal)));
    for (const page of asked) visited.add(nameOf(page));
    try {
      return await send();
    } catch (cause) {
      error = cause;
    }
  }
}

function nameOf({ elicitationId, url }: JsonObject): unknown {
  return elicitationId ?? url;
}

function question(page: JsonObject): { readonly method: string; readonly params: JsonObject } {
  return { method: 'elicitation/create', params: { ...page, mode: 'url' } };
}
