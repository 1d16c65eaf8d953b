import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type QuestionHandlers } from '../../src/index.ts';
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
  test.each(['2026-07-28', '2025-11-25', '2025-06-18'])('is asked by a server of %s', async (farProtocol) => {
    const { near } = await bridge(await serve([ask]), {
      near: { protocol, handlers, tasks },
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
  });
});
