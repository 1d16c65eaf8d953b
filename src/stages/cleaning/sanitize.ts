import { z } from 'zod';
import { authorFailure } from '../../core/author-failure.ts';
import type { Call } from '../../core/call.ts';
import type { ContentBlock, TextBlock } from '../../core/content.ts';
import { accident, ToolcribError, type ErrorDetails } from '../../base/errors.ts';
import { linearPattern } from '../../base/linear-pattern.ts';
import type { Question } from '../../core/question.ts';
import { recorded, type CallRecord } from '../../core/record.ts';
import type { Done, Failed, NeedsInput, Result } from '../../core/result.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import type { Next, Stage } from '../../core/stage.ts';
import { cleanText } from '../../observe/clean-text.ts';
import { redactPatterns, Secrets, type Redact } from '../../observe/secrets.ts';
import { createClean } from './clean-messages.ts';
import { Cleaner, tooLarge } from './cleaner.ts';
import { firstBytes, MARK_BYTES, markOf } from './cut-text.ts';
import { LargeResults } from './large-results.ts';
import { isSurelyUntouched, type LookOptions } from './look-first.ts';
import { isSurelyLabelled } from './media-type.ts';
import { exceptSkillFiles } from './skill-files.ts';

/** The options of the `sanitize` stage. */
export const sanitizeOptions = z.strictObject({
  maxBytes: z
    .int()
    .min(1_000)
    .max(1_000_000_000)
    .default(1_000_000)
    .describe('Largest result in bytes. Longer text is cut, larger data is refused.'),
  redact: z
    .array(z.enum(['secrets']))
    .default(['secrets'])
    .describe('What is redacted: secrets in use and well-known token formats.'),
  patterns: z
    .record(z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/), z.string().min(1).superRefine(requirePattern))
    .default({})
    .describe('Further patterns to redact, by the name that replaces them.'),
  escapeHtml: z.boolean().default(false).describe('Escapes text so that a web page shows it as it is.'),
});

function requirePattern(source: string, issues: z.RefinementCtx): void {
  try {
    linearPattern(source);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    issues.addIssue({
      code: 'custom',
      message: `is not a pattern that can be used (${reason}); look-around and back-references are not supported`,
    });
  }
}

/** What the `sanitize` stage needs. */
export interface SanitizeParts {
  /** The secrets of this process; without it, only known formats are recognised. */
  readonly secrets?: Secrets;
}

/** Removes invisible text, controls and secrets from everything that is sent to the client, and limits its size. */
export function sanitize(options: z.input<typeof sanitizeOptions> = {}, parts: SanitizeParts = {}): Stage {
  const { maxBytes, redact, patterns, escapeHtml } = sanitizeOptions.parse(options, { jitless: true });
  const secrets = redact.includes('secrets') ? (parts.secrets ?? new Secrets()) : undefined;
  const redactAll = inTurn(secrets && ((text) => secrets.redact(text)), redactPatterns(patterns));
  const how = { maxBytes, redact: redactAll, secrets, escapeHtml };
  // Patterns of the operator and markup are looked for in each text.
  const canLook = !escapeHtml && Object.keys(patterns).length === 0;
  const look = canLook ? { maxBytes, secrets } : undefined;
  const answers = new Answers(new Cleaner(how), maxBytes, look);
  // A cleaner of its own: a call may send messages while the result of another is being cleaned.
  const clean = createClean(new Cleaner(how));
  const cleanQuestions = (questions: ReadonlyMap<string, Question>): ReadonlyMap<string, Question> =>
    answers.questions(questions);
  const exact = new Cleaner({ ...how, escapeHtml: false });
  const finish = exceptSkillFiles((result, call) => answers.cleanInTurn(result, call), exact);
  const around = <C extends Call>(next: Next<C>): Next<C> => {
    return (call) => {
      call.voice.cleanWith?.(clean);
      call.interview.cleanWith(cleanQuestions);
      let ended: Awaitable<Result>;
      try {
        ended = next(call);
      } catch (error) {
        throw answers.error(error);
      }
      if (!(ended instanceof Promise)) return finish(ended, call);
      return ended.then(
        (result) => finish(result, call),
        (error: unknown) => {
          throw answers.error(error);
        },
      );
    };
  };
  return { name: 'sanitize', wrap: (_tool, next) => around(next), wrapReading: (next) => around(next) };
}

function inTurn(first: Redact | undefined, second: Redact | undefined): Redact | undefined {
  return first && second ? (text) => second(first(text)) : (first ?? second);
}

/** Cleans results and errors. */
class Answers {
  readonly #cleaner: Cleaner;
  readonly #maxBytes: number;
  readonly #large = new LargeResults();
  readonly #look: LookOptions | undefined;

  constructor(cleaner: Cleaner, maxBytes: number, look: LookOptions | undefined) {
    this.#cleaner = cleaner;
    this.#maxBytes = maxBytes;
    this.#look = look;
  }

  /** Cleans a result now, or in its turn if many large ones are ready. */
  cleanInTurn(result: Result, call: Call): Awaitable<Result> {
    const turn = this.#large.turnFor(result, call.caller);
    return turn ? turn.then(() => this.#clean(result, call)) : this.#clean(result, call);
  }

  #clean(result: Result, call: Call): Result {
    this.#cleaner.bytes = 0;
    try {
      if (result.kind === 'needs_input') return this.#needsInput(result);
      if (result.relayed && this.#isUntouched(result, call.record)) return result;
      const ended = result.relayed?.longIntegers ? this.#withCleanDigits(result) : result;
      return call.kind === 'tool' ? this.#ending(ended, call.record) : this.#reading(ended, call.record);
    } catch (error) {
      const name = call.kind === 'tool' ? call.tool.name : `The ${call.kind}`;
      if (error instanceof ToolcribError) throw authorFailure(error, call, name);
      // Thrown here, so that the record shows what the client is told.
      throw accident('tool_failed', `${name} returned something that is not JSON`, error);
    } finally {
      this.#large.note(this.#cleaner.bytes);
    }
  }

  // A long integer has digits that its number lacks: they may be those of a secret.
  #withCleanDigits(result: Done | Failed): Done | Failed {
    const longs = result.relayed?.longIntegers;
    const longIntegers = this.#cleaner.data(longs);
    this.#cleaner.bytes = 0;
    return longIntegers && longIntegers !== longs ? { ...result, relayed: { longIntegers } } : result;
  }

  #isUntouched(result: Done | Failed, record: CallRecord): boolean {
    const json = this.#look && result.relayed?.jsonOf?.(result);
    if (!json || !isSurelyUntouched(json, this.#look)) return false;
    const blocks = json.blocks ?? result.content;
    if (blocks && !blocks.every(isSurelyLabelled)) return false;
    this.#cleaner.bytes = json.end - json.start;
    record.measure(this.#cleaner.bytes);
    return true;
  }

  /** An error with a clean message and clean data; unexpected errors have fixed texts and pass unchanged. */
  error(error: unknown): unknown {
    if (!(error instanceof ToolcribError)) return error;
    const cleaner = this.#cleaner;
    cleaner.bytes = 0;
    try {
      const message = cleaner.text(error.message);
      cleaner.checkSize();
      const data = error.data && cleaner.noted(error.data);
      const remote = error.remote && cleaner.noted(error.remote);
      if (message === error.message && data === error.data && remote === error.remote) return error;
      return cleanError(error, message, { ...(data && { data }), ...(remote && { remote }) });
    } catch (problem) {
      if (!(problem instanceof ToolcribError))
        return accident('tool_failed', 'The tool failed with something that is not JSON', problem);
      return new ToolcribError(problem.code, problem.message, { cause: error });
    }
  }

  #ending(result: Done | Failed, record: CallRecord): Result {
    const cleaner = this.#cleaner;
    const { data, meta, extra, content, relayed } = result;
    const cleanData = data === undefined ? data : cleaner.data(data);
    const cleanMeta = meta && cleaner.data(meta);
    const cleanExtra = extra && cleaner.blocks(extra);
    const cleanContent = content && this.#content(content);
    record.measure(cleaner.bytes);
    if (cleanContent === content && cleanMeta === meta && cleanExtra === extra && Object.is(cleanData, data))
      return result;
    return {
      kind: result.kind,
      ...(cleanContent && { content: cleanContent }),
      ...(cleanData !== undefined && { data: cleanData }),
      ...(cleanMeta && { meta: cleanMeta }),
      ...(cleanExtra && { extra: cleanExtra }),
      ...(relayed && { relayed }),
    };
  }

  #reading(result: Done | Failed, record: CallRecord): Result {
    const cleaner = this.#cleaner;
    const { meta, extra } = result;
    const data = cleaner.blocks(result.data);
    const cleanMeta = meta && cleaner.data(meta);
    const cleanExtra = extra && cleaner.blocks(extra);
    record.measure(cleaner.bytes);
    if (data === result.data && cleanMeta === meta && cleanExtra === extra) return result;
    return {
      ...result,
      data,
      ...(cleanMeta && { meta: cleanMeta }),
      ...(cleanExtra && { extra: cleanExtra }),
    };
  }

  #content(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
    const cleaner = this.#cleaner;
    let copy: ContentBlock[] | undefined;
    let textBytes = 0;
    let texts = 0;
    for (let index = 0; index < blocks.length; index++) {
      const block = blocks[index]!;
      const before = cleaner.bytes;
      const clean = isText(block) ? this.#text(block) : cleaner.blocks(block);
      if (isText(clean)) {
        // Text is counted apart, because it can be cut.
        const size = sizeOf(clean.text, cleaner.bytes - before);
        textBytes += size;
        texts++;
        cleaner.bytes -= size;
        cleaner.checkSize();
      }
      if (clean === block) continue;
      copy ??= [...blocks];
      copy[index] = clean;
    }
    const fixed = cleaner.bytes;
    cleaner.bytes += textBytes + texts * AROUND_TEXT;
    const all = copy ?? blocks;
    return cleaner.bytes > this.#maxBytes ? this.#cut(all, { textBytes, fixed }) : all;
  }

  #text(block: TextBlock): TextBlock {
    const cleaner = this.#cleaner;
    const text = cleaner.text(block.text);
    // Most blocks have only these two fields.
    if (Object.keys(block).length === 2) return text === block.text ? block : { type: 'text', text };
    const rest = { ...block, text: '' };
    const before = cleaner.bytes;
    cleaner.bytes = 0;
    const cleanRest = cleaner.data(rest);
    cleaner.bytes += before;
    return cleanRest === rest && text === block.text ? block : { ...cleanRest, text };
  }

  // Cuts the first text that does not fit and drops later texts; everything else is kept.
  #cut(blocks: readonly ContentBlock[], { textBytes, fixed }: Counted): readonly ContentBlock[] {
    let room = this.#maxBytes - fixed - MARK_BYTES;
    if (room < 0) throw tooLarge(this.#maxBytes);
    let shown = 0;
    let isCut = false;
    const kept: ContentBlock[] = [];
    for (const block of blocks) {
      if (!isText(block)) {
        kept.push(block);
        continue;
      }
      if (isCut) continue;
      const text = firstBytes(block.text, room);
      const bytes = Buffer.byteLength(text);
      shown += bytes;
      room -= bytes + AROUND_TEXT;
      isCut = room < 0 || text.length < block.text.length;
      kept.push(isCut ? { ...block, text: text + markOf(shown, textBytes) } : block);
    }
    this.#cleaner.bytes = this.#maxBytes - MARK_BYTES - room + Buffer.byteLength(markOf(shown, textBytes));
    return kept;
  }

  /** Cleans questions to the client, the user or the model. */
  questions(questions: ReadonlyMap<string, Question>): ReadonlyMap<string, Question> {
    let copy: Map<string, Question> | undefined;
    this.#cleaner.bytes = 0;
    for (const [key, question] of questions) {
      // Answers are found by this key: a changed key would be asked for ever.
      if (this.#cleaner.name(key) !== key)
        throw new ToolcribError('invalid_output', 'The tool asks a question whose key cannot be shown.');
      const clean = this.#question(question);
      if (clean !== question) (copy ??= new Map(questions)).set(key, clean);
    }
    return copy ?? questions;
  }

  #needsInput(result: NeedsInput): NeedsInput {
    const questions = this.questions(result.questions);
    return questions === result.questions ? result : { ...result, questions };
  }

  #question(question: Question): Question {
    if (question.kind !== 'url') return this.#cleaner.blocks(question);
    // The user must visit the URL, which may contain a token that belongs there.
    const message = this.#cleaner.text(question.message);
    const url = cleanText(question.url);
    const extra = question.extra && this.#cleaner.blocks(question.extra);
    if (
      message === question.message &&
      url === question.url &&
      extra === question.extra &&
      !question.longIntegers
    )
      return question;
    const longIntegers = question.longIntegers && this.#cleaner.data(question.longIntegers);
    return { kind: 'url', message, url, ...(extra && { extra }), ...(longIntegers && { longIntegers }) };
  }
}

/** The size of the texts that can be cut, and of everything else. */
interface Counted {
  readonly textBytes: number;
  readonly fixed: number;
}

// The JSON around a text: {"type":"text","text":""}
const AROUND_TEXT = 24;

function isText(block: ContentBlock): block is TextBlock {
  return block.type === 'text' && typeof block.text === 'string';
}

// Plain text was counted already; only a block with more fields is measured again.
function sizeOf(text: string, counted: number): number {
  return text.length === counted ? counted : Buffer.byteLength(text);
}

function cleanError(error: ToolcribError, message: string, clean: ErrorDetails): ToolcribError {
  const copy = new ToolcribError(error.code, message, {
    ...clean,
    ...(error.number !== undefined && { number: error.number }),
    ...('cause' in error && { cause: error.cause }),
    ...(error.incident !== undefined && { incident: error.incident }),
  });
  if (recorded.has(error)) recorded.add(copy);
  return copy;
}
