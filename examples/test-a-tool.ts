import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { createFakeClock, createTestClient } from 'toolcrib/testing';
import { z } from 'zod';

const convertCurrency = defineTool(
  {
    name: 'convert_currency',
    description: 'Converts an amount of euros into dollars. Returns the amount. Use it to compare prices.',
    input: z.object({ amount: z.number().positive() }),
    output: z.object({ dollars: z.number() }),
  },
  ({ amount }) => (amount > 1_000 ? new Promise<never>(() => {}) : { dollars: amount * 1.1 }),
);

const clock = createFakeClock();
const server = createServer({
  source: new ToolRegistry().registerTool(convertCurrency),
  clock,
  deadlineMs: 5_000,
});
const client = createTestClient(server);

await test('ten euros are eleven dollars', async () => {
  const { structuredContent } = await client.callTool('convert_currency', { amount: 10 });
  assert.deepEqual(structuredContent, { dollars: 11 });
});

await test('less than nothing is refused, and the model is told why', async () => {
  const { isError, text } = await client.callTool('convert_currency', { amount: -10 });
  assert.equal(isError, true);
  assert.match(text, /amount/);
});

await test('a call that hangs is stopped after five seconds, without waiting for them', async () => {
  const answer = client.callTool('convert_currency', { amount: 1_000_000 });
  clock.advance(5_000);
  assert.match((await answer).text, /took over 5 s/);
});
