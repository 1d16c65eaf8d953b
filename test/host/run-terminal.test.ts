import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../src/index.ts';
import { cli, startNode } from '../behaviour/child.ts';
import { deferred } from '../behaviour/deferred.ts';
import { serve } from '../client/peers.ts';
import { within } from '../within.ts';
import { call, setUpRun, words, type RunSetup } from './run-setup.ts';
import { atTerminal, type Terminal } from './terminal.ts';

interface Talk extends RunSetup {
  readonly terminal: Terminal;
}

async function talk(tool: Tool<never>, answers: readonly string[], ...more: string[]): Promise<Talk> {
  const setup = await setUpRun(await serve([tool]), answers);
  return { ...setup, terminal: atTerminal([cli, 'run', setup.file, ...more], setup.env) };
}

const greet = defineTool(
  {
    name: 'greet',
    description: 'Greets.',
    input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
  ({ name }) => `Hello ${name}!`,
);

// A call that only its cancellation ends.
function waiting(): { tool: Tool<never>; began: Promise<void>; stopped: Promise<void> } {
  const [began, stopped] = [deferred(), deferred()];
  const tool = defineTool(
    { name: 'wait', description: 'Waits.', annotations: { readOnlyHint: true } },
    async (_, { signal }) => {
      began.resolve();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      stopped.resolve();
      return 'stopped';
    },
  );
  return { tool, began: began.promise, stopped: stopped.promise };
}

test('a person agrees to a file once, sees each call, can change it, and is asked again only about what is new', async () => {
  const answers = [call('greet', { name: 'Bob' }), words('Greeted.'), call('greet', { name: 'Eve' })];
  const { terminal, model } = await talk(greet, answers);
  expect(await terminal.until('[y/N] ')).toContain('and sends it the content of $TINY_KEY');
  terminal.type('y\n');
  await terminal.until('> ');
  terminal.type('Greet Bob.\n');
  expect(await terminal.until('\n? ')).toContain('name: "Bob"');
  terminal.type('e\n');
  await terminal.until('on one line: ');
  terminal.type('{"name":"Ada"}\n');
  await terminal.until('✓ calc: greet {"name":"Ada"}');
  await terminal.until('Greeted.');
  expect(JSON.stringify(model.seen[1]!.body)).toContain('Hello Ada!');
  await terminal.until('> ');
  terminal.type('Greet Eve.\n');
  expect(await terminal.until('\n? ')).toMatch(/- name: "Bob"[^]*\+ name: "Eve"/);
  terminal.type('n Not her.\n');
  await terminal.until('✗ calc: greet');
  await terminal.until('> ');
  expect(JSON.stringify(model.seen[3]!.body)).toContain('Not her.');
  terminal.type('/quit\n');
  await terminal.until('2 calls');
  expect(await terminal.exit).toBe(0);
});

test('a yes that was typed before a call was shown does not approve it', async () => {
  const answers = [call('greet', { name: 'Bob' }), words('Not greeted.')];
  const { terminal, model } = await talk(greet, answers, 'Greet Bob.', '--yes');
  terminal.type('y\n');
  await terminal.until('\n? ');
  terminal.type('n\n');
  await terminal.until('✗ calc: greet');
  expect(await terminal.exit).toBe(0);
  expect(JSON.stringify(model.seen[1]!.body)).not.toContain('Hello Bob!');
});

test('a question of a server during a call is asked at the terminal', async () => {
  const book = defineTool(
    { name: 'book', description: 'Books.', requires: ['elicitation'], annotations: { readOnlyHint: true } },
    async (_, { elicit }) => {
      const answer = await elicit({
        key: 'form',
        message: 'Where to?',
        schema: z.object({ city: z.string() }),
      });
      return JSON.stringify(answer);
    },
  );
  const answers = [call('book', {}), words('Booked.')];
  const { terminal, model } = await talk(book, answers, 'Book.', '--yes');
  expect(await terminal.until('city (string): ')).toContain('asks: Where to?');
  terminal.type('Bern\n');
  await terminal.until('Send this? [Y/n] ');
  terminal.type('\n');
  await terminal.until('Booked.');
  expect(await terminal.exit).toBe(0);
  expect(JSON.stringify(model.seen[1]!.body)).toContain('Bern');
});

test('in a conversation, the first Ctrl-C stops the answer and the call at its server, and the second ends the program', async () => {
  const { tool, began, stopped } = waiting();
  const { terminal, model } = await talk(tool, [call('wait', {}), words('Here again.')], '--yes');
  await terminal.until('> ');
  terminal.type('Wait.\n');
  await within(20_000, 'the call', began);
  terminal.type('\u0003');
  await within(10_000, 'the cancelled call', stopped);
  await terminal.until('> ');
  terminal.type('Are you there?\n');
  await terminal.until('Here again.');
  expect(model.seen).toHaveLength(2);
  await terminal.until('> ');
  terminal.type('\u0003');
  expect(await terminal.exit).toBe(130);
});

test('Ctrl-C in a run for one question stops the call at its server, and the command exits with 130', async () => {
  const { tool, began, stopped } = waiting();
  const { file, env } = await setUpRun(await serve([tool]), [call('wait', {})]);
  const child = startNode([cli, 'run', file, 'Wait.', '--yes'], env);
  await within(20_000, 'the call', began);
  child.process.kill('SIGINT');
  await within(10_000, 'the cancelled call', stopped);
  expect(await child.exit).toEqual({ code: 130, signal: null });
});

test('Ctrl-C at the question about a call denies it, and the command ends', async () => {
  let ran = 0;
  const wipe = defineTool({ name: 'wipe', description: 'Wipes.' }, () => String(++ran));
  const { terminal, model } = await talk(wipe, [call('wipe', {})], 'Wipe.', '--yes');
  await terminal.until('\n? ');
  terminal.type('\u0003');
  expect(await terminal.exit).toBe(130);
  expect({ ran, turns: model.seen.length }).toEqual({ ran: 0, turns: 1 });
});
