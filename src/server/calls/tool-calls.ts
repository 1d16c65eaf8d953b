import { andThen, type Awaitable } from '../../base/awaitable.ts';
import { accident, rowOf, ToolcribError } from '../../base/errors.ts';
import { longIntegersAt, longIntegersOf } from '../../base/exact-json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { absentTool } from '../../core/absent-tool.ts';
import type { ToolCall, CallParts } from '../../core/call.ts';
import { failed, type Done, type Failed } from '../../core/result.ts';
import type { Tool } from '../../core/tool.ts';
import { writeRelayedResult } from '../../protocol/encode/relayed-result.ts';
import { writeToolResult } from '../../protocol/encode/result.ts';
import { checkParamMirrors } from '../../protocol/wire/headers.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { readCallParams } from '../../protocol/wire/params.ts';
import type { ServerParts } from '../parts.ts';
import type { UnderstoodRequest } from '../request.ts';
import { encodeInputRequired, type QuestionRound } from './rounds.ts';
import type { Detached, Ended, Runner } from './run.ts';
import { encodeTask } from './tasks.ts';

type ToolTarget = Omit<ToolCall, keyof CallParts>;

/** Answers `tools/call`: finds the tool, runs it and encodes how that ended. */
export class ToolCalls {
  readonly #parts: ServerParts;
  readonly #runner: Runner;

  constructor(parts: ServerParts, runner: Runner) {
    this.#parts = parts;
    this.#runner = runner;
  }

  /** The encoded result of a call: a result, questions for the client, or a task to follow. */
  call(request: UnderstoodRequest): Awaitable<string | Buffer> {
    const params = readCallParams(request.message.params);
    const longs = request.message.longIntegers;
    const longIntegers = longs && longIntegersAt(longs, 'params', 'arguments');
    return andThen(this.#parts.source.find(params.name, request.link.caller), (found) => {
      const tool = found ?? absentTool(params.name);
      checkHeaders(request, tool, params.arguments);
      const target: ToolTarget = { kind: 'tool', tool, arguments: params.arguments, longIntegers };
      return andThen(this.#runner.run(request, target), (ended) => this.#encode(ended, target, request));
    });
  }

  #encode(ended: Ended, target: ToolTarget, request: UnderstoodRequest): Awaitable<string | Buffer> {
    switch (ended.kind) {
      case 'done':
      case 'failed':
        return this.#write(ended, target.tool, request);
      case 'needs_input':
        return this.#ask(ended, target, request);
      case 'detached':
        return this.#follow(ended, target.tool, request);
    }
  }

  #write(result: Done | Failed, tool: Tool, { revision }: UnderstoodRequest): string | Buffer {
    const { info, jsonText, log } = this.#parts;
    const style = { revision, info, jsonText };
    try {
      const relayed = result.relayed && writeRelayedResult(result, tool, style);
      return relayed ?? writeToolResult(result, tool, style);
    } catch (cause) {
      // A cycle or a BigInt in what the handler returned is the tool's failure, not the protocol's.
      const error = accident('tool_failed', `${tool.name} returned something that is not JSON`, cause);
      log('error', error.message, { target: tool.name, incident: error.incident, cause });
      return writeToolResult(failed(error.message), tool, style);
    }
  }

  // A question that cannot be put is the tool's failure, like any other.
  async #ask(ended: QuestionRound, target: ToolTarget, request: UnderstoodRequest): Promise<string | Buffer> {
    try {
      return await encodeInputRequired(ended, { request, target }, this.#parts);
    } catch (error) {
      if (!(error instanceof ToolcribError) || rowOf(error.code).reply !== 'result') throw error;
      return this.#write(failed(error.message), target.tool, request);
    }
  }

  #follow({ task, rest }: Detached, tool: Tool, request: UnderstoodRequest): string {
    const ended = rest.then(
      (result) => {
        if (result.kind === 'needs_input') {
          return task.end({ error: new ToolcribError('internal', 'A task cannot end with a question.') });
        }
        const text = String(this.#write(result, tool, request));
        const longIntegers = result.relayed?.longIntegers && longIntegersOf(text);
        return task.end({ result: parseJson(text) as JsonObject, longIntegers });
      },
      (error: unknown) => task.end({ error: error as ToolcribError }),
    );
    ended.catch((cause: unknown) =>
      this.#parts.log('error', 'A task could not be recorded.', { target: tool.name, cause }),
    );
    const body = { ...encodeTask(task.record), resultType: 'task' };
    return JSON.stringify(request.revision.frame(body, this.#parts.info));
  }
}

// Modern clients repeat some arguments in headers, for proxies to see; both must say the same.
function checkHeaders({ link, revision }: UnderstoodRequest, tool: Tool, args: JsonObject): void {
  if (link.headers && revision.era === 'modern') checkParamMirrors(tool.inputSchema, args, link.headers);
}
