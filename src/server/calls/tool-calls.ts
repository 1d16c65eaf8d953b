import { absentTool } from '../../core/absent-tool.ts';
import type { ToolCall } from '../../core/call.ts';
import { digest } from '../../base/digest.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import { accident, rowOf, ToolcribError } from '../../base/errors.ts';
import { parseJson } from '../../base/parse-json.ts';
import { failed, type Done, type Failed } from '../../core/result.ts';
import { andThen, type Awaitable } from '../../base/awaitable.ts';
import { isDeclaredReadOnly, type Tool } from '../../core/tool.ts';
import { writeToolResult } from '../../protocol/encode/result.ts';
import { checkParamMirrors } from '../../protocol/wire/headers.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { readCallParams } from '../../protocol/wire/params.ts';
import { requireCapabilities } from './asking.ts';
import type { ServerParts } from '../parts.ts';
import { encodeInputRequired, type InputRequiredOptions } from './questions.ts';
import type { Asking, CallBase, Detached, Runner, Subject } from './runner.ts';
import type { Settled } from '../settled.ts';
import { encodeTask } from './tasks.ts';

/** Answers `tools/call`. */
export class ToolCalls {
  readonly #parts: ServerParts;
  readonly #runner: Runner;

  constructor(parts: ServerParts, runner: Runner) {
    this.#parts = parts;
    this.#runner = runner;
  }

  /** The encoded result of a call: a result, questions for the client, or a task to follow. */
  call(settled: Settled): Awaitable<string> {
    const { message, revision, link } = settled;
    const params = readCallParams(message.params);
    return andThen(this.#parts.source.find(params.name, link.caller), (found) => {
      const tool = found ?? absentTool(params.name);
      if (link.headers && revision.era === 'modern')
        checkParamMirrors(tool.inputSchema, params.arguments, link.headers);
      const subject: Subject<ToolCall> = {
        name: tool.name,
        bind: () => ({
          target: `${tool.name} ${definitionDigest(tool)}`,
          arguments: digest(params.arguments),
        }),
        answers: isDeclaredReadOnly(tool) ? 'again' : 'once',
        toCall: (base) => toToolCall(base, tool, params.arguments),
        check: tool.requires && (() => requireCapabilities(tool.requires!, settled)),
      };
      return andThen(this.#runner.run(settled, subject), (ended): Awaitable<string> => {
        switch (ended.kind) {
          case 'done':
          case 'failed':
            return this.#write(ended, tool, settled);
          case 'needs_input':
            return this.#ask(
              ended,
              { settled, parts: this.#parts, binding: this.#runner.bindingOf(settled, subject) },
              tool,
            );
          case 'detached':
            return this.#follow(ended, tool, settled);
        }
      });
    });
  }

  // A question that cannot be put is the tool's failure, like any other.
  async #ask(ended: Asking, options: InputRequiredOptions, tool: Tool): Promise<string> {
    try {
      return await encodeInputRequired(ended, options);
    } catch (error) {
      if (!(error instanceof ToolcribError) || rowOf(error.code).reply !== 'result') throw error;
      return this.#write(failed(error.message), tool, options.settled);
    }
  }

  #write(result: Done | Failed, tool: Tool, { revision }: Settled): string {
    const { info, jsonText, log } = this.#parts;
    try {
      return writeToolResult(result, tool, { revision, info, jsonText });
    } catch (cause) {
      // A cycle or a BigInt in what the handler returned is the tool's failure, not the protocol's.
      const error = accident('tool_failed', `${tool.name} returned something that is not JSON`, cause);
      log('error', error.message, { target: tool.name, incident: error.incident, cause });
      return writeToolResult(failed(error.message), tool, { revision, info, jsonText });
    }
  }

  #follow({ task, rest }: Detached, tool: Tool, settled: Settled): string {
    const ended = rest.then(
      (result) => {
        if (result.kind === 'needs_input') {
          return task.end({ error: new ToolcribError('internal', 'A task cannot end with a question.') });
        }
        return task.end({ result: parseJson(this.#write(result, tool, settled)) as JsonObject });
      },
      (error: unknown) => task.end({ error: error as ToolcribError }),
    );
    ended.catch((cause: unknown) =>
      this.#parts.log('error', 'A task could not be recorded.', { target: tool.name, cause }),
    );
    const { revision } = settled;
    return JSON.stringify(
      revision.frame({ ...encodeTask(task.record), resultType: 'task' }, this.#parts.info),
    );
  }
}

// Written out: spreading the base costs more than everything else about a call.
function toToolCall(base: CallBase, tool: Tool, args: JsonObject): ToolCall {
  const { caller, client, meta, cancellation, interview, voice, record } = base;
  return {
    kind: 'tool',
    tool,
    arguments: args,
    caller,
    client,
    meta,
    cancellation,
    interview,
    voice,
    record,
  };
}
