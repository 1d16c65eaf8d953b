import type { Call, ClientFacts, ToolCall } from '../src/core/call.ts';
import { localCaller, type Caller } from '../src/core/caller.ts';
import { Cancellation } from '../src/base/cancellation.ts';
import { Interview } from '../src/core/interview.ts';
import { CallRecord } from '../src/core/record.ts';
import type { Memory } from '../src/core/memory/memory.ts';
import type { Tool } from '../src/core/tool.ts';
import { createInMemoryStore } from '../src/store/memory/store.ts';
import type { Entry, Journal } from '../src/store/store.ts';
import { createFakeClock } from '../src/testing.ts';

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

/** A record in memory, and its rows. */
export function recordInMemory() {
  const clock = createFakeClock();
  const store = createInMemoryStore({ clock, memory: {} as Memory });
  const rows = (chain?: string): Record<string, unknown>[] =>
    store.entries
      .filter((entry) => chain === undefined || entry.chain === chain)
      .map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  return { store, clock, rows };
}

/** A journal that can be made to fail. */
export interface FragileJournal extends Journal {
  isReady: boolean;
  failing: boolean;
  readonly entries: readonly Entry[];
}

/** A journal that works until it is made to fail. */
export function fragileJournal(): FragileJournal {
  const entries: Entry[] = [];
  const journal: FragileJournal = {
    isReady: true,
    failing: false,
    entries,
    async append(entry) {
      if (journal.failing) throw new Error('disk full');
      entries.push(entry);
    },
    async commit(entry) {
      await journal.append(entry);
      return 'committed';
    },
  };
  return journal;
}
