import { expect, test } from 'vitest';
import type { Client } from '../../src/index.ts';
import { within } from '../within.ts';
import { hostileActs } from './hostile-acts.ts';
import { makeUp, open, standard } from './peers.ts';

/** Everything but calls that a client asks a server for. */
const requests: readonly [method: string, ask: (client: Client) => Promise<unknown>][] = [
  ['tools/list', (client) => client.listTools()],
  ['resources/list', (client) => client.listResources()],
  ['resources/templates/list', (client) => client.listResourceTemplates()],
  ['prompts/list', (client) => client.listPrompts()],
  ['resources/read', (client) => client.readResource('acme:x')],
  ['prompts/get', (client) => client.getPrompt('x')],
  ['completion/complete', (client) => client.complete({ prompt: 'x', argument: 'a', value: '' })],
];

test.each(requests)(
  'C9 whatever a server does wrong with %s is an error of that kind',
  async (method, ask) => {
    let at = 0;
    const server = await makeUp((got) => {
      if (got.body['method'] !== method) return standard(got);
      hostileActs[at]![1](got);
    });
    const limits = { messageBytes: 100_000, messagesPerRequest: 500 };
    const patient = await open(server.url, { limits });
    const impatient = await open(server.url, {
      limits,
      timeouts: { callMs: 100, absoluteMs: 100, listMs: 100 },
    });
    for (const [index, [title, , code]] of hostileActs.entries()) {
      at = index;
      const client = code === 'timed_out' ? impatient : patient;
      const outcome = within(8_000, title, ask(client)).then(() => 'an answer', codeOf);
      expect([title, await outcome]).toEqual([title, code]);
      expect(client.underWay).toBe(0);
    }
  },
);

test.each([{}, { completion: 5 }, { completion: { values: 'x' } }, { completion: { values: [1] } }])(
  'suggestions that are no list of texts are refused: %j',
  async (result) => {
    const server = await makeUp((got) =>
      got.body['method'] === 'completion/complete' ? got.reply(result) : standard(got),
    );
    const client = await open(server.url);
    const asked = client.complete({ prompt: 'x', argument: 'a', value: '' });
    await expect(asked).rejects.toMatchObject({ code: 'invalid_answer' });
  },
);

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code ?? error;
}
