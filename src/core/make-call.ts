import { Cancellation } from '../base/cancellation.ts';
import type { NamedPlace } from './tool-names.ts';
import type {
  Call,
  CallParts,
  ClientFacts,
  CompletionCall,
  PromptCall,
  ResourceCall,
  ToolCall,
} from './call.ts';
import { Interview } from './interview.ts';
import { CallRecord } from './record.ts';

/** What is called, and with what: the part of a call that depends on its kind. */
export type CallTarget =
  | Omit<ToolCall, keyof CallParts>
  | Omit<ResourceCall, keyof CallParts>
  | Omit<PromptCall, keyof CallParts>
  | Omit<CompletionCall, keyof CallParts>;

/** The call that a target makes. */
export type CallOf<T extends CallTarget> = Extract<Call, { readonly kind: T['kind'] }>;

/** The caller, and what else a transport knows; the defaults are those of a call within this process. */
export type GivenParts = Pick<CallParts, 'caller'> & Partial<CallParts>;

/** Makes a call. Every call is made here, whatever it came by. */
export function makeCall<T extends CallTarget>(target: T, parts: GivenParts): CallOf<T> {
  const {
    caller,
    client = NO_CLIENT,
    meta = NOTHING,
    cancellation = new Cancellation(),
    interview = new Interview(),
    voice = NOTHING,
    record = new CallRecord(),
  } = parts;
  if (target.kind !== 'tool') {
    const all: CallParts = { caller, client, meta, cancellation, interview, voice, record };
    return { ...target, ...all } as Call as CallOf<T>;
  }
  const { tool, arguments: args, longIntegers } = target;
  // Written out: spreading costs more than everything else about a call of a tool.
  return {
    kind: 'tool',
    tool,
    arguments: args,
    longIntegers,
    caller,
    client,
    meta,
    cancellation,
    interview,
    voice,
    record,
  } satisfies ToolCall as Call as CallOf<T>;
}

/** What a target is called. */
export function targetName(target: CallTarget): string {
  return calledThing(target).name;
}

/** What is called: its name, and where it comes from. */
export function calledThing(target: CallTarget): { readonly name: string; readonly place?: NamedPlace } {
  switch (target.kind) {
    case 'tool':
      return target.tool;
    case 'resource':
      return target.resource;
    case 'prompt':
      return target.prompt;
    case 'completion':
      return target.target;
  }
}

const NOTHING = Object.freeze({});
const NO_CLIENT: ClientFacts = Object.freeze({
  name: undefined,
  version: undefined,
  protocolVersion: undefined,
  capabilities: NOTHING,
});
