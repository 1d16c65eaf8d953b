import type { ClientFacts, Progress, ToolCall } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { Deadlines } from '../core/deadlines.ts';
import { accident, rowOf, ToolcribError } from '../core/errors.ts';
import { unknownTool } from '../core/registry.ts';
import { failed, type Result } from '../core/result.ts';
import type { ToolSource } from '../core/source.ts';
import type { Tool } from '../core/tool.ts';
import type { Log } from '../observe/log.ts';
import { checkParamMirrors } from '../protocol/headers.ts';
import { encodeNotification, type RequestMessage } from '../protocol/json-rpc.ts';
import { metaOf } from '../protocol/meta.ts';
import { readCallParams, readCursor, type CallParams } from '../protocol/params.ts';
import type { Implementation, JsonText, Revision } from '../protocol/revision.ts';
import type { Link } from './link.ts';
import { ToolLists } from './tool-lists.ts';

/** What dispatching needs to know about the server. */
export interface DispatchOptions {
  readonly source: ToolSource;
  readonly info: Implementation;
  readonly jsonText: JsonText;
  readonly deadlineMs: number;
  readonly pageSize: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request whose revision and sender are settled. */
export interface Settled {
  readonly message: RequestMessage;
  readonly revision: Revision;
  readonly client: ClientFacts;
  readonly link: Link;
}

/** Hands list and call requests to the source and encodes what comes back. */
export class Dispatch {
  readonly #options: DispatchOptions;
  readonly #lists: ToolLists;
  readonly #deadlines: Deadlines;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.#lists = new ToolLists(options);
    this.#deadlines = new Deadlines(options.clock);
  }

  /** The encoded result of `tools/list`. */
  async listTools({ message, revision, link }: Settled): Promise<Buffer> {
    const cursor = readCursor(message.params);
    return this.#lists.page(await this.#options.source.list(link.caller), revision, cursor);
  }

  /** The encoded result of `tools/call`. */
  async callTool(settled: Settled): Promise<string> {
    const { message, revision, link } = settled;
    const params = readCallParams(message.params);
    const found = this.#options.source.find(params.name, link.caller);
    const tool = found instanceof Promise ? await found : found;
    if (!tool) throw unknownTool(params.name);
    if (link.headers && revision.era === 'modern')
      checkParamMirrors(tool.inputSchema, params.arguments, link.headers);
    const result = await this.#run(this.#toCall(settled, tool, params));
    return this.#encode(result, tool, revision);
  }

  async #run(call: ToolCall): Promise<Result> {
    const { cancellation, tool } = call;
    const { deadlineMs, source, log } = this.#options;
    const stop = this.#deadlines.start(deadlineMs, () => {
      cancellation.abort(
        new ToolcribError('timed_out', `${tool.name} took over ${deadlineMs / 1000} s and was stopped.`),
      );
    });
    try {
      return await cancellation.race(Promise.resolve(source.call(call)));
    } catch (error) {
      const known =
        error instanceof ToolcribError
          ? error
          : accident('internal', 'The server failed unexpectedly', error);
      if (known.cause !== undefined) {
        log('error', known.message, {
          tool: tool.name,
          code: known.code,
          incident: known.incident,
          cause: known.cause,
        });
      }
      if (rowOf(known.code).reply !== 'result') throw known;
      return failed(known.message);
    } finally {
      stop();
    }
  }

  #toCall({ message, client, link }: Settled, tool: Tool, params: CallParams): ToolCall {
    const { caller, cancellation } = link;
    return {
      kind: 'tool',
      tool,
      arguments: params.arguments,
      caller,
      client,
      meta: metaOf(message.params),
      cancellation,
      report: params.progressToken === undefined ? undefined : reporter(link, params.progressToken),
    };
  }

  #encode(result: Result, tool: Tool, revision: Revision): string {
    const { info, jsonText, log } = this.#options;
    try {
      return JSON.stringify(revision.encodeToolResult(result, tool, { info, jsonText }));
    } catch (cause) {
      // A cycle or a BigInt in what the handler returned is the tool's failure, not the protocol's.
      const error = accident('tool_failed', `${tool.name} returned something that is not JSON`, cause);
      log('error', error.message, { tool: tool.name, incident: error.incident, cause });
      return JSON.stringify(revision.encodeToolResult(failed(error.message), tool, { info, jsonText }));
    }
  }
}

// Progress must grow, whatever the handler reports.
function reporter(link: Link, progressToken: string | number): (progress: Progress) => void {
  let last = -Infinity;
  return (progress) => {
    if (!(progress.progress > last) || link.answered) return;
    last = progress.progress;
    link.notify(encodeNotification('notifications/progress', { progressToken, ...progress }));
  };
}
