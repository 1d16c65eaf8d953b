import type { Call, ClientFacts, ToolCall } from '../src/core/call.ts';
import { localCaller, type Caller } from '../src/core/caller.ts';
import { Cancellation } from '../src/core/cancellation.ts';
import { Interview } from '../src/core/interview.ts';
import { CallRecord } from '../src/core/record.ts';
import type { Tool } from '../src/core/tool.ts';

/** A caller with everything a row says of one. */
export const ada: Caller = {
  ...localCaller,
  id: 'ada',
  tenant: { id: 'acme', name: 'Acme', data: {} },
  credential: 'key_1',
};

const noClient: ClientFacts = {
  name: undefined,
  version: undefined,
  protocolVersion: undefined,
  capabilities: {},
};

/** What all calls have, for tests that make one. */
export function callBase(caller: Caller = ada): Omit<ToolCall, 'kind' | 'tool' | 'arguments'> {
  return {
    caller,
    client: noClient,
    meta: {},
    cancellation: new Cancellation(),
    record: new CallRecord(),
    interview: new Interview(),
    voice: {},
  };
}

/** A call of a tool. */
export function callOf(tool: Tool, changes: Partial<Omit<ToolCall, 'kind' | 'tool'>> = {}): ToolCall {
  return { ...callBase(), kind: 'tool', tool, arguments: {}, ...changes } satisfies Call;
}
