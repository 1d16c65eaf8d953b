import type { OnSkill } from '../../host/loop/skill-request.ts';
import type { QuestionHandlers } from '../../client/question-handlers.ts';
import type { OnToolCall } from '../../stages/approve/decision.ts';
import { askAnew, canAsk, isYes } from '../client/ask.ts';
import { questionHandlers } from '../client/questions.ts';
import { isApproved, rememberApproved } from '../servers/confirm-once.ts';
import { printable } from '../table.ts';
import { askDecision } from './ask-decision.ts';
import type { RunView } from './run-view.ts';

/** What a person at the terminal is asked in a run. */
export interface PersonAtTerminal {
  /** `undefined` without a terminal: calls that need a person are refused then. */
  readonly onToolCall?: OnToolCall;
  readonly onSkill?: OnSkill;
  readonly handlers: QuestionHandlers;
}

/** How a person is asked in a run. */
export interface AskingOptions {
  readonly isYesToReading: boolean;
  /** Called where the person ends the input instead of answering. */
  readonly onEnd: () => void;
}

/** Asks the person at the terminal, one question at a time, without other output moving there. */
export function atTheTerminal(
  view: Pick<RunView, 'pause' | 'resume'>,
  options: AskingOptions,
): PersonAtTerminal {
  const inTurn = oneAtATime(view);
  const { form, url } = questionHandlers();
  const handlers: QuestionHandlers = {
    ...(form && { form: (question, context) => inTurn(async () => form(question, context)) }),
    ...(url && { url: (question, context) => inTurn(async () => url(question, context)) }),
  };
  if (!canAsk()) return { handlers };
  const write = (text: string): unknown => process.stderr.write(text);
  const decide = askDecision({ ask: askAnew, write, ...options });
  return {
    handlers,
    onToolCall: (request) => inTurn(async () => decide(request)),
    onSkill: (request) => inTurn(() => askAboutSkill(request)),
  };
}

const askAboutSkill: (...[request]: Parameters<OnSkill>) => Promise<boolean> = async (request) => {
  const { server, name, description, digest, signal } = request;
  if (digest !== undefined && (await isApproved('approved-skills', digest))) return true;
  process.stderr.write(
    `\n${printable(server)} offers the skill ${printable(name)}: ${printable(description)}\n`,
  );
  const until = digest === undefined ? 'this time' : 'now and while its files stay the same';
  const answer = await askAnew(`Let the model follow it, ${until}? [y/N] `, signal);
  const isAgreed = isYes(answer);
  if (isAgreed && digest !== undefined) await rememberApproved('approved-skills', digest);
  return isAgreed;
};

function oneAtATime(view: Pick<RunView, 'pause' | 'resume'>): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(async () => {
      view.pause();
      try {
        return await work();
      } finally {
        view.resume();
      }
    });
    // The next one waits for the end of this one, however it ends.
    last = turn.catch(() => {});
    return turn;
  };
}
