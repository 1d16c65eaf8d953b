import type { ToolCall } from './call.ts';
import { localCaller } from './caller.ts';
import { CallContext, type Services, type ToolContext } from './context.ts';
import { ToolcribError } from '../base/errors.ts';
import { InputRequired } from './interview.ts';
import { makeCall } from './make-call.ts';
import { permitCall } from './essentials/permit.ts';
import type { Tool } from './tool.ts';
import { checkArguments } from './essentials/validate.ts';

/** What a tool that runs without a server is given. */
export interface LocalRun {
  /** Takes the place of what a server would provide. */
  readonly context: Partial<ToolContext>;
  readonly services: Services | undefined;
}

/** Runs a tool in this process, arguments checked, and returns what its handler returned. */
export async function executeTool(
  tool: Tool,
  parameters: Record<string, unknown>,
  { context, services }: LocalRun,
): Promise<unknown> {
  const args = await checkArguments(tool, parameters);
  const call = localCall(tool, args, context);
  const { signal } = context;
  const stop = (): void => call.cancellation.abort(signal?.reason as Error);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  const own = new CallContext(call, services);
  try {
    await permitCall(tool, args, call.caller);
    return await tool.handler(args, given(context, own));
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    const text = 'There is no client to ask here; pass elicit, sample or roots in the context.';
    throw new ToolcribError('cannot_ask', text, { cause: error });
  } finally {
    signal?.removeEventListener('abort', stop);
    await own.cleanUp();
  }
}

function given(context: Partial<ToolContext>, own: CallContext): ToolContext {
  return new Proxy<ToolContext>(own, {
    get: (target, key) =>
      (key in context ? Reflect.get(context, key) : Reflect.get(target, key, target)) as unknown,
  });
}

function localCall(tool: Tool, args: ToolCall['arguments'], context: Partial<ToolContext>): ToolCall {
  const { caller = localCaller, tenant = caller.tenant, client, meta, progress } = context;
  return makeCall(
    { kind: 'tool', tool, arguments: args },
    {
      caller: tenant === caller.tenant ? caller : { ...caller, tenant },
      ...(client && { client }),
      ...(meta && { meta }),
      ...(progress && { voice: { report: (done) => progress(done.progress, done.total, done.message) } }),
    },
  );
}
