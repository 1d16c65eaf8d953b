import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Listeners } from '../../client/listeners.ts';
import {
  answerQuestion,
  type QuestionContext,
  type QuestionHandlers,
} from '../../client/question-handlers.ts';
import type { Asker } from '../../core/interview.ts';
import type { Question } from '../../core/question.ts';
import { Cleaner } from '../../stages/cleaning/cleaner.ts';
import type { AgentEvents, ServerQuestion } from '../agent.ts';

/** Called when a question is asked; the returned function is called with its outcome. */
export type OnQuestion = (question: Omit<ServerQuestion, 'id'>) => (outcome: string) => void;

/** Tells of questions when they begin and end. */
export function tellingQuestions(listeners: Listeners<AgentEvents>, clock: Clock): OnQuestion {
  let count = 0;
  return (asked) => {
    const question = { ...asked, id: `question-${++count}` };
    const startedAt = clock.ticks();
    listeners.tell('question:start', question);
    return (outcome) =>
      listeners.tell('question:end', { ...question, outcome, ms: clock.ticks() - startedAt });
  };
}

// Questions are for people to read; larger ones are refused.
const MAX_BYTES = 100_000;

/** The handlers for one server: they get its name as the operator gave it, and questions without invisible text. */
export function handlersFor(
  server: string,
  { form, url, sample, roots }: QuestionHandlers,
  onQuestion: OnQuestion,
): QuestionHandlers {
  const cleaner = new Cleaner({ maxBytes: MAX_BYTES, redact: undefined, escapeHtml: false });
  const clean = <T>(asked: T): T => {
    cleaner.bytes = 0;
    return cleaner.blocks(asked);
  };
  const asking = async <T>(
    { kind, message }: Pick<ServerQuestion, 'kind' | 'message'>,
    context: QuestionContext,
    answer: (context: QuestionContext) => T | PromiseLike<T>,
  ): Promise<T> => {
    const end = onQuestion({ server, kind, message });
    try {
      const given = await answer({ ...context, server });
      end(outcomeOf(given));
      return given;
    } catch (error) {
      end('failed');
      throw error;
    }
  };
  return {
    ...(form && {
      form: (raw, context) => {
        const question = clean(raw);
        return asking({ kind: 'form', message: question.message }, context, (own) => form(question, own));
      },
    }),
    ...(url && {
      url: (raw, context) => {
        const question = clean(raw);
        return asking({ kind: 'url', message: question.message }, context, (own) => url(question, own));
      },
    }),
    ...(sample && {
      sample: (raw, context) => {
        const question = clean(raw);
        return asking({ kind: 'sample', message: '' }, context, (own) => sample(question, own));
      },
    }),
    ...(roots && {
      roots: (context) => asking({ kind: 'roots', message: '' }, context, (own) => roots(own)),
    }),
  };
}

/** Puts the questions of tools of this process to the same handlers. */
export function askerFor(handlers: QuestionHandlers, context: QuestionContext): Asker {
  return {
    ask: async (questions) => {
      const answers = [...questions].map(async ([key, question]) => {
        const answer = answerQuestion(requestOf(question), handlers, context);
        if (!answer)
          throw new ToolcribError('cannot_ask', `Nobody here answers a question of kind ${question.kind}.`);
        return [key, await answer] as const;
      });
      return new Map(await Promise.all(answers));
    },
  };
}

function requestOf(question: Question): Parameters<typeof answerQuestion>[0] {
  switch (question.kind) {
    case 'form':
      return {
        method: 'elicitation/create',
        params: { mode: 'form', message: question.message, requestedSchema: question.schema },
      };
    case 'url':
      return {
        method: 'elicitation/create',
        params: { mode: 'url', message: question.message, url: question.url },
      };
    case 'sample':
      return { method: 'sampling/createMessage', params: question.params };
    case 'roots':
      return { method: 'roots/list', params: {} };
  }
}

function outcomeOf(answer: unknown): string {
  const action =
    typeof answer === 'object' && answer !== null && 'action' in answer ? answer.action : 'answered';
  return typeof action === 'string' ? action : 'answered';
}
