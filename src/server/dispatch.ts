import type { ClientFacts, Progress, ToolCall } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { Deadlines } from '../core/deadlines.ts';
import { accident, rowOf, ToolcribError } from '../core/errors.ts';
import { unknownTool } from '../core/registry.ts';
import { failed, type Result } from '../core/result.ts';
import { attempt, andThen, type Awaitable, type ToolSource } from '../core/source.ts';
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
  listTools({ message, revision, link }: Settled): Awaitable<Buffer> {
    const cursor = readCursor(message.params);
    return andThen(this.#options.source.list(link.caller), (tools) =>
      this.#lists.page(tools, revision, cursor),
    );
  }

  /** The encoded result of `tools/call`. */
  callTool(settled: Settled): Awaitable<string> {
    const { message, revision, link } = settled;
    const params = readCallParams(message.params);
    return andThen(this.#options.source.find(params.name, link.caller), (tool) => {
      if (!tool) throw unknownTool(params.name);
      if (link.headers && revision.era === 'modern') {
        checkParamMirrors(tool.inputSchema, params.arguments, link.headers);
      }
      const call = this.#toCall(settled, tool, params);
      const result = attempt(
        () => this.#run(call),
        (error) => this.#fail(error, tool),
      );
      return andThen(result, (ended) => this.#encode(ended, tool, revision));
    });
  }

  // Only work that takes time needs a deadline.
  #run(call: ToolCall): Awaitable<Result> {
    const work = this.#options.source.call(call);
    if (!(work instanceof Promise)) return work;
    const { cancellation, tool } = call;
    const { deadlineMs } = this.#options;
    const stop = this.#deadlines.start(deadlineMs, () => {
      const text = `${tool.name} took over ${deadlineMs / 1000} s and was stopped.`;
      cancellation.abort(new ToolcribError('timed_out', text));
    });
    return cancellation.race(work).finally(stop);
  }

  // What the model can act on becomes a result; the rest is for the client program.
  #fail(error: unknown, { name }: Tool): Result {
    const known =
      error instanceof ToolcribError ? error : accident('internal', 'The server failed unexpectedly', error);
    const { code, message, cause, incident } = known;
    if (cause !== undefined || incident !== undefined)
      this.#options.log('error', message, { tool: name, code, incident, cause });
    if (rowOf(code).reply !== 'result') throw known;
    return failed(message);
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
    try {
      return revision.encodeToolResult(result, tool, this.#options);
    } catch (cause) {
      // A cycle or a BigInt in what the handler returned is the tool's failure, not the protocol's.
      const error = accident('tool_failed', `${tool.name} returned something that is not JSON`, cause);
      this.#options.log('error', error.message, { tool: tool.name, incident: error.incident, cause });
      return revision.encodeToolResult(failed(error.message), tool, this.#options);
    }
  }
}

// Progress must grow, whatever the handler reports, and ends with the call, however that ends.
function reporter(link: Link, progressToken: string | number): (progress: Progress) => void {
  let last = -Infinity;
  return (progress) => {
    if (!(progress.progress > last) || link.answered || link.cancellation.reason) return;
    last = progress.progress;
    link.notify(encodeNotification('notifications/progress', { progressToken, ...progress }));
  };
}
