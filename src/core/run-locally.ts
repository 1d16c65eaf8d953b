import { authorFailure } from './author-failure.ts';
import type { Call, CompletionCall, PromptCall, ResourceCall } from './call.ts';
import { CallContext, type Services } from './context.ts';
import { requirePresent, suggestionFilter } from './expose-readings.ts';
import { checkPromptArguments, toCompletion, toMessages } from './prompts/prompt.ts';
import { targetName } from './make-call.ts';
import { toContents } from './resources/resource.ts';
import { toResult, type Result } from './result.ts';
import { andThen, orElse, isThenable, type Awaitable } from '../base/awaitable.ts';

/**
 * Runs a function of an author: a handler, a read, a prompt or a completer. The details of an unexpected error go to
 * the log only.
 */
export function runLocally(call: Call, services?: Services): Awaitable<Result> {
  const { interview } = call;
  const context = new CallContext(call, services);
  const ended = orElse(
    () => run(call, context),
    (error): Result => {
      void context.cleanUp();
      if (interview.raised) return needsInput(call);
      throw authorFailure(error, call, targetName(call));
    },
  );
  // A question ends the run even if the handler swallowed the exception.
  return andThen(ended, (result) => {
    void context.cleanUp();
    return interview.raised ? needsInput(call) : result;
  });
}

function run(call: Call, context: CallContext): Awaitable<Result> {
  switch (call.kind) {
    case 'tool': {
      const { tool } = call;
      const hasOutputSchema = tool.outputSchema !== undefined;
      const value = tool.handler(call.arguments, context);
      if (!isThenable(value)) return toResult(value, hasOutputSchema);
      return Promise.resolve(value).then((later) => toResult(later, hasOutputSchema));
    }
    case 'resource':
      return readResource(call, context);
    case 'prompt':
      return fillPrompt(call, context);
    case 'completion':
      return complete(call, context);
  }
}

async function readResource(call: ResourceCall, context: CallContext): Promise<Result> {
  const { resource, uri, variables } = call;
  const value = await ('uriTemplate' in resource
    ? resource.read(variables, context, uri)
    : resource.read(uri, context));
  return { kind: 'done', data: { contents: toContents(value, { uri, mimeType: resource.mimeType }) } };
}

async function fillPrompt(call: PromptCall, context: CallContext): Promise<Result> {
  // With invalid arguments it has not run.
  call.record.keepFromRunning();
  const args = checkPromptArguments(call.prompt, call.arguments);
  call.record.letRun();
  return { kind: 'done', data: toMessages(await call.prompt.get(args, context)) };
}

async function complete(call: CompletionCall, context: CallContext): Promise<Result> {
  requirePresent(call);
  const { target, argument, chosen } = call;
  const completers = 'uriTemplate' in target ? (target.complete ?? {}) : target.arguments;
  const found = Object.hasOwn(completers, argument.name) ? completers[argument.name] : undefined;
  const completer = typeof found === 'function' ? found : found?.complete;
  const values = completer ? await completer(argument.value, { arguments: chosen, context }) : [];
  return { kind: 'done', data: toCompletion(values, suggestionFilter(call)) };
}

function needsInput({ interview }: Call): Result {
  const questions = interview.raised!;
  interview.checker?.check(questions);
  return { kind: 'needs_input', questions, answers: interview.accepted };
}
