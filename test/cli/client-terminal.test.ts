import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../src/index.ts';
import { cli } from '../behaviour/child.ts';
import { deferred } from '../behaviour/deferred.ts';
import { serve } from '../client/peers.ts';
import { atTerminal, type Terminal } from '../host/terminal.ts';

const book = defineTool({ name: 'book', description: 'Books.', requires: ['elicitation'] }, (_, { elicit }) =>
  Promise.all(
    ['city', 'hotel'].map((key) =>
      elicit({ key, message: `Which ${key}?`, schema: z.object({ [key]: z.string() }) }),
    ),
  ),
);

/** Calls the tool at a terminal, on a revision. */
async function callAt(protocol: string, tool: Tool<never> = book): Promise<Terminal> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-terminal-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'toolcrib.yaml');
  const entry = { url: await serve([tool]), protocol };
  writeFileSync(file, JSON.stringify({ mcpServers: { shop: entry } }));
  return atTerminal([cli, 'call', 'shop', 'book', '--from', file], { XDG_CONFIG_HOME: folder });
}

test.each(['2026-07-28', '2025-11-25'])(
  'on %s Ctrl-C at a question cancels the call, and says so in one line',
  async (protocol) => {
    const terminal = await callAt(protocol);
    await terminal.until('city (string): ');
    terminal.type('\u0003');
    expect(await terminal.exit).toBe(130);
    expect(terminal.shown()).toMatch(/toolcrib: The request was cancelled\.\s*$/);
    expect(terminal.shown()).not.toContain('AbortError');
  },
);

test('what was typed before a question was shown is no answer to it', async () => {
  const typed = deferred();
  const late = defineTool(
    { name: 'book', description: 'Books late.', requires: ['elicitation'] },
    async (_, { elicit, progress }) => {
      progress(1, 2, 'looking');
      await typed.promise;
      return elicit({ key: 'city', message: 'Which city?', schema: z.object({ city: z.string() }) });
    },
  );
  const terminal = await callAt('2026-07-28', late);
  await terminal.until('looking');
  terminal.type('early\r');
  await terminal.until('early');
  typed.resolve();
  await terminal.until('city (string): ');
  terminal.type('Bern\r');
  await terminal.until('Send this? [Y/n] ');
  terminal.type('y\r');
  expect(await terminal.exit).toBe(0);
  expect(terminal.shown()).toContain('"city": "Bern"');
});

test('at a terminal the end of the input cancels one question, and the next is asked', async () => {
  const terminal = await callAt('2026-07-28');
  await terminal.until('city (string): ');
  terminal.type('\u0004');
  await terminal.until('hotel (string): ');
  terminal.type('Bellevue\r');
  await terminal.until('Send this? [Y/n] ');
  terminal.type('y\r');
  expect(await terminal.exit).toBe(0);
  expect(terminal.shown().match(/"action": "\w+"/g)).toEqual(['"action": "cancel"', '"action": "accept"']);
});

test('an agreement that cannot be kept holds for this time, and says so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-terminal-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'mcp.json');
  const program = join(import.meta.dirname, 'fixtures/sdk-server.mjs');
  writeFileSync(
    file,
    JSON.stringify({ mcpServers: { sdk: { command: process.execPath, args: [program] } } }),
  );
  const settings = join(file, 'settings');
  const terminal = atTerminal([cli, 'list', 'sdk', '--from', file], { XDG_CONFIG_HOME: settings });
  await terminal.until('Go on, now and while it stays the same? [y/N] ');
  terminal.type('y\r');
  expect(await terminal.exit).toBe(0);
  expect(terminal.shown()).toContain('The answer cannot be kept (ENOTDIR), so you will be asked again.');
  expect(terminal.shown()).toContain('forecast');
});
