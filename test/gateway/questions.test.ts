import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ClientOptions, type QuestionHandlers } from '../../src/index.ts';
import { serve } from '../client/peers.ts';
import { bridge } from './bridge.ts';

const ask = defineTool(
  { name: 'ask', description: 'Asks twice.' },
  async (_args, { elicit, sample, roots }) => {
    const form = await elicit({
      message: 'Which?',
      schema: z.object({ colour: z.enum(['red', 'green']) }),
    });
    const [model, folders] = await Promise.all([
      sample({ messages: [{ role: 'user', content: { type: 'text', text: '?' } }], maxTokens: 5 }),
      roots(),
    ]);
    return { form, model: model.model, folders: folders.length };
  },
);

const seen: string[] = [];
const handlers: QuestionHandlers = {
  form: ({ message }) => {
    seen.push(message);
    return { action: 'accept', content: { colour: 'red' } };
  },
  url: () => ({ action: 'accept' }),
  sample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: '42' } }),
  roots: () => [{ uri: 'file:///work', name: 'work' }],
};
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

const clients: [name: string, protocol: string, tasks: boolean][] = [
  ['2026-07-28', '2026-07-28', false],
  ['2026-07-28 with tasks', '2026-07-28', true],
  ['2025-11-25', '2025-11-25', false],
  ['2025-06-18', '2025-06-18', false],
];

describe.each(clients)('a client of %s', (_name, protocol, tasks) => {
  test.each(['2026-07-28', '2025-11-25', '2025-06-18'])(
    'gets the questions of a server of %s, as a task where it has tasks and the call waits there',
    async (farProtocol) => {
      const replies = createReplies();
      const { near } = await bridge(await serve([ask]), {
        near: { protocol, handlers, tasks, onMessage: replies.note },
        far: { protocol: farProtocol, capabilities, askedBy: 'far' },
      });
      seen.length = 0;
      const result = await near.callTool('ask').unwrap();
      expect(result.data()).toEqual({
        form: { action: 'accept', content: { colour: 'red' } },
        model: 'm',
        folders: 1,
      });
      expect(seen).toEqual(['far: Which?']);
      expect(replies.kinds()).toEqual(kindsOf({ protocol, farProtocol, tasks }));
    },
  );
});

interface Replies {
  readonly note: NonNullable<ClientOptions['onMessage']>;
  /** The different kinds of replies to calls. */
  kinds(): string[];
}

/** Takes down how the calls of a client were answered. */
function createReplies(): Replies {
  const calls = new Set<unknown>();
  const kinds = new Set<string>();
  return {
    note: (from, text) => {
      const { id, method, result } = JSON.parse(text) as {
        readonly id?: unknown;
        readonly method?: string;
        readonly result?: { readonly resultType?: string };
      };
      if (from === 'client' && method === 'tools/call') calls.add(id);
      if (from === 'server' && result && calls.has(id)) kinds.add(result.resultType ?? 'complete');
    },
    kinds: () => [...kinds],
  };
}

// A call that waits at an older server becomes a task where the client has tasks, and is parked where it has none.
function kindsOf(of: {
  readonly protocol: string;
  readonly farProtocol: string;
  readonly tasks: boolean;
}): string[] {
  if (of.protocol !== '2026-07-28') return ['complete'];
  return of.tasks && of.farProtocol !== '2026-07-28' ? ['task'] : ['input_required', 'complete'];
}
