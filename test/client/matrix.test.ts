import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cancelled, ToolNotFound, type Client, type QuestionHandlers } from '../../src/index.ts';
import { firstFew } from '../property-runs.ts';
import { within } from '../within.ts';
import { cells, openCell, type OpenCell } from './cells.ts';

const handlers: QuestionHandlers = {
  form: () => ({ action: 'accept', content: { colour: 'red' } }),
  sample: ({ messages }) => ({
    role: 'assistant',
    model: 'parrot-1',
    content: { type: 'text', text: `${(messages as [{ content: { text: string } }])[0].content.text}!` },
  }),
};

describe.each(firstFew(cells, 3))('on $version over $transport', (cell) => {
  const { version, era, asks } = cell;
  let opened: OpenCell;
  let client: Client;

  beforeAll(async () => {
    opened = await openCell(cell, 'workbench.mjs', { handlers });
    ({ client } = opened);
  });
  afterAll(() => opened.close());

  test('the connection uses the revision that was asked for', () => {
    expect(client.server).toMatchObject({ era, protocolVersion: version });
  });

  test('text, data, images and long texts arrive unchanged', async () => {
    expect(await client.callTool('plain').text()).toBe('plain');
    expect(await client.callTool('structured', { a: 1, b: 2 }).data()).toEqual({ sum: 3 });
    expect(await client.callTool('image').images()).toEqual([
      { mimeType: 'image/png', data: Uint8Array.of(1, 2, 3) },
    ]);
    expect(await client.callTool('large').text()).toBe('ä'.repeat(500_000));
  });

  test('failed results and protocol errors are told apart', async () => {
    await expect(client.callTool('fail').unwrap()).rejects.toMatchObject({ code: 'tool_failed' });
    await expect(client.callTool('structured', { a: 'one' })).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
    await expect(client.callTool('absent')).rejects.toBeInstanceOf(ToolNotFound);
  });

  test('progress arrives in order, before the result', async () => {
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

  test('a call that becomes a task is followed to its end', async () => {
    expect(await client.callTool('job').text()).toBe('worked');
  });

  test('a change of the tools is announced to the program, with the new list', async () => {
    const before = (await client.listTools()).length;
    const told: number[] = [];
    client.on('toolsChanged', (tools) => told.push(tools?.length ?? 0));
    // The stream for changes may not be open yet, so changes are made until one is announced.
    const growUntilTold = async (): Promise<void> => {
      while (told.length === 0) await client.callTool('grow');
    };
    await within(5_000, 'the change', growUntilTold());
    expect(told[0]).toBeGreaterThan(before);
  });
});
