import { digest } from '../../base/digest.ts';
import { writeWithLongIntegers } from '../../base/exact-json.ts';
import { givenOf } from '../../core/call.ts';
import { ownerOf } from '../../core/caller.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import type { CallTarget } from '../../core/make-call.ts';
import { describePrompt } from '../../core/prompts/prompt.ts';
import type { NeedsInput } from '../../core/result.ts';
import { isDeclaredReadOnly } from '../../core/tool.ts';
import type { Resumption } from '../../protocol/wire/params.ts';
import type { ServerParts } from '../parts.ts';
import type { UnderstoodRequest } from '../request.ts';
import { encodeQuestions, longIntegersOfQuestions } from './asking.ts';
import type { Binding, OpenedState, Seal } from './seal.ts';

/** The state of a call that has not asked yet. */
export const FIRST_ROUND: OpenedState = { answers: new Map(), round: 0 };

/** Questions that ended a run, and how often the call had asked before. */
export interface QuestionRound extends NeedsInput {
  readonly round?: number;
  /** The name of the call, where it waits instead of being run again. */
  readonly parked?: string;
}

/** The request and target of a call that asks. */
export interface AskingCall {
  readonly request: UnderstoodRequest;
  readonly target: CallTarget;
}

/** The answers that a retry brings: those sealed into its state, and those to the last questions. */
export async function openRound(
  { request, target }: AskingCall,
  { state, responses }: Resumption,
  seal: Seal,
): Promise<OpenedState> {
  const now = Object.entries(responses);
  // Answers alone are the client's word; only state that was sealed here proves an earlier round.
  if (state === undefined) return { answers: new Map(now), round: 0 };
  const opened = await seal.open(state, bindingOf(request, target), answerUse(target));
  // Sealed answers win: later questions were based on them, so they cannot be replaced.
  return { ...opened, answers: new Map([...now, ...opened.answers]) };
}

/** The encoded result that asks the client: its questions, and the sealed answers so far. */
export async function encodeInputRequired(
  { questions, answers, round = 0, state, parked }: QuestionRound,
  { request, target }: AskingCall,
  { seal, info }: ServerParts,
): Promise<string> {
  const inputRequests = encodeQuestions(questions, request);
  const body = {
    resultType: 'input_required',
    inputRequests,
    requestState: await seal.close({ answers, round: round + 1, state, parked }, bindingOf(request, target)),
  };
  return writeWithLongIntegers(request.revision.frame(body, info), longIntegersOfQuestions(inputRequests));
}

function bindingOf({ message, link }: UnderstoodRequest, target: CallTarget): Binding {
  return { owner: ownerOf(link.caller), method: message.method, ...bindingTo(target) };
}

function bindingTo(target: CallTarget): Pick<Binding, 'target' | 'arguments'> {
  switch (target.kind) {
    case 'tool':
      return {
        target: `${target.tool.name} ${definitionDigest(target.tool)}`,
        arguments: digest(givenOf(target)),
      };
    case 'resource':
      return { target: target.uri, arguments: '' };
    case 'prompt':
      return {
        target: `${target.prompt.name} ${digest(describePrompt(target.prompt))}`,
        arguments: digest(target.arguments),
      };
    case 'completion':
      return { target: target.target.name, arguments: '' };
  }
}

// Answers may be used only once, unless running twice does no harm.
function answerUse(target: CallTarget): 'once' | 'again' {
  return target.kind === 'tool' && !isDeclaredReadOnly(target.tool) ? 'once' : 'again';
}
