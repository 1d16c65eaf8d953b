import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cancelled, connect, ToolNotFound, type Client, type QuestionHandlers } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { runNode } from '../behaviour/child.ts';
import { revisions } from '../behaviour/matrix.ts';
import { firstFew } from '../property-runs.ts';
import { within } from '../within.ts';

const fixture = join(import.meta.dirname, 'fixtures/workbench.mjs');
const handlers: QuestionHandlers = {
  form: () => ({ action: 'accept', content: { colour: 'red' } }),
  sample: ({ messages }) => ({
    role: 'assistant',
    model: 'parrot-1',
    content: { type: 'text', text: `${(messages as [{ content: { text: string } }])[0].content.text}!` },
  }),
};

const transports = ['HTTP', 'stdio', 'SSE'] as const;
// Transport by transport along the revisions, so that the first few have all of both.
const cells = [0, 1, 2]
  .flatMap((shift) =>
    revisions.map((revision, index) => ({ ...revision, transport: transports[(index + shift) % 3]! })),
  )
  .filter(({ transport, era }) => transport !== 'SSE' || era === 'legacy');

describe.each(firstFew(cells, 5))('on $version over $transport', ({ version, era, transport, asks }) => {
  let client: Client;
  let stop = async (): Promise<void> => {};

  beforeAll(async () => {
    const options = { protocol: version, handlers };
    if (transport === 'stdio') {
      client = await connectStdio(process.execPath, [fixture, 'stdio'], options);
      return;
    }
    const child = runNode([fixture]);
    stop = () => child.kill();
    const url = (await child.outputUntil('\n')).trim();
    client = await (transport === 'HTTP'
      ? connect(url, { ...options, transport: 'http' })
      : connect(new URL('/sse', url), { ...options, transport: 'sse' }));
  });
  afterAll(async () => {
    await within(10_000, 'the connection to close', client.close());
    await stop();
  });

  test('the revision is the one that was asked for', () => {
    expect(client.server).toMatchObject({ era, protocolVersion: version });
  });

  test('text, data, pictures and long texts arrive as they are', async () => {
    expect(await client.callTool('plain').text()).toBe('plain');
    expect(await client.callTool('structured', { a: 1, b: 2 }).data()).toEqual({ sum: 3 });
    expect(await client.callTool('image').images()).toEqual([
      { mimeType: 'image/png', data: Uint8Array.of(1, 2, 3) },
    ]);
    expect(await client.callTool('large').text()).toBe('ä'.repeat(500_000));
  });

  test('failures and errors are told apart', async () => {
    await expect(client.callTool('fail').unwrap()).rejects.toMatchObject({ code: 'tool_failed' });
    await expect(client.callTool('structured', { a: 'one' })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
    await expect(client.callTool('absent')).rejects.toBeInstanceOf(ToolNotFound);
  });

  test('progress comes in order, before the result', async () => {
    const seen: number[] = [];
    const call = client.callTool('count', {}, { onProgress: ({ progress }) => seen.push(progress) });
    expect(await call.text()).toBe('counted');
    expect(seen).toEqual([1, 2]);
  });

  test('questions are answered, one after the other', async () => {
    expect(await client.callTool('ask').text()).toBe('first!');
    expect(await client.callTool('ask_twice').text()).toBe('first!, second!');
    const filled = await client.callTool('fill');
    expect(filled).toMatchObject(asks === 'not' ? { isError: true } : { isError: false });
    if (asks !== 'not') expect(filled.text()).toBe('red');
  });

  test('a cancelled call is cancelled at the server', async () => {
    const caller = new AbortController();
    const call = client.callTool('wait', {}, { signal: caller.signal, onProgress: () => caller.abort() });
    await expect(within(5_000, 'the call to end', call)).rejects.toBeInstanceOf(Cancelled);
    expect(await client.callTool('hear').text()).toBe('cancelled');
  });

  test('work that goes on as a task is followed to its end', async () => {
    expect(await client.callTool('job').text()).toBe('worked');
  });

  test('a change of the tools is told, with the new list', async () => {
    const before = (await client.listTools()).length;
    const told: number[] = [];
    client.on('toolsChanged', (tools) => told.push(tools?.length ?? 0));
    // The stream for changes may not be open yet, so there is a change until one is told.
    const growUntilTold = async (): Promise<void> => {
      while (told.length === 0) await client.callTool('grow');
    };
    await within(5_000, 'the change', growUntilTold());
    expect(told[0]).toBeGreaterThan(before);
  });
});
