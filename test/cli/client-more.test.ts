import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { definePrompt, defineResource, defineTool, ToolRegistry } from '../../src/index.ts';
import { askingHandlers } from '../../src/cli/client/questions.ts';
import type { QuestionContext } from '../../src/client/question-handlers.ts';
import { cli, startNode } from '../behaviour/child.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { open, serve } from '../client/peers.ts';
import { startSite, visit } from '../sign-in-site.ts';
import { within } from '../within.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-more-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function library(): ToolRegistry {
  const summarise = definePrompt(
    {
      name: 'summarise',
      description: 'Asks for a summary.',
      arguments: {
        city: {
          required: true,
          complete: (typed) => ['Bern', 'Basel'].filter((name) => name.startsWith(typed)),
        },
      },
    },
    ({ city }) => `Tell me about ${city}.`,
  );
  const note = defineResource(
    { uri: 'note://a', name: 'a', description: 'A note.' },
    () => 'A note\u001B[2J.',
  );
  const picture = defineResource({ uri: 'note://p', name: 'p', mimeType: 'image/png' }, () =>
    Buffer.from('x'),
  );
  return new ToolRegistry().registerPrompt(summarise).registerResource(note, picture);
}

describe('toolcrib read', () => {
  test('lists what can be read, shows texts and saves the rest', async () => {
    const [url, folder] = [await serve(library()), temporaryFolder()];
    const { output } = await runCommandLine(['read', url]);
    expect(output).toMatch(/^RESOURCE +NAME +HOLDS\nnote:\/\/a +a +A note\.\nnote:\/\/p +p\n$/);
    const note = await runCommandLine(['read', url, 'note://a']);
    expect(note).toMatchObject({ code: 0, output: String.raw`A note\u001b[2J.` + '\n' });
    const picture = await runCommandLine(['read', url, 'note://p', '--save', folder]);
    expect(picture.output).toContain('resource-1.png (image/png, 1 bytes)');
    expect(readdirSync(folder)).toEqual(['resource-1.png']);
  });

  test('says that there is no such resource', async () => {
    const { code, output } = await runCommandLine(['read', await serve(library()), 'note://no', '--json']);
    expect([code, JSON.parse(output)]).toMatchObject([expect.any(Number), { error: {} }]);
    expect(code).toBeGreaterThan(0);
  });
});

test('toolcrib prompt lists prompts and shows the messages of one', async () => {
  const url = await serve(library());
  expect((await runCommandLine(['prompt', url])).output).toMatch(
    /^PROMPT +TAKES +IS FOR\nsummarise +city +Asks for a summary\.\n$/,
  );
  const { output } = await runCommandLine(['prompt', url, 'summarise', 'city=Bern']);
  expect(output).toBe('user:\nTell me about Bern.\n');
});

test('toolcrib complete shows what the server suggests', async () => {
  const url = await serve(library());
  expect((await runCommandLine(['complete', url, 'summarise', 'city=B'])).output).toBe('Bern\nBasel\n');
  expect((await runCommandLine(['complete', url])).complaints).toContain('Say what to complete');
});

test('toolcrib watch prints what changes until Ctrl-C, and ends well', async () => {
  const registry = library();
  const child = startNode([cli, 'watch', await serve(registry), '--json']);
  let output = '';
  child.process.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await expect.poll(() => output, { timeout: 10_000 }).toContain('"watching"');
  // The server may hear of the subscription a moment later, so there are changes until one is told.
  let count = 0;
  const change = (): string => {
    registry.registerTool(defineTool({ name: `late_${++count}`, description: 'Comes late.' }, () => 'late'));
    return output;
  };
  await expect.poll(change, { timeout: 10_000 }).toMatch(/"event":"tools changed","tools":\["late_1"/);
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

describe('questions of a server', () => {
  const askForm = defineTool(
    { name: 'book', description: 'Books.', requires: ['elicitation'] },
    async (_, { elicit }) =>
      elicit({
        key: 'form',
        message: 'Where to?',
        schema: z.object({
          city: z.string(),
          nights: z.number().int().default(1),
          size: z.enum(['small', 'large']),
          quiet: z.boolean().optional(),
        }),
      }),
  );

  test('are declined without a terminal, and it is said', async () => {
    const run = await runCommandLine(['call', await serve([askForm]), 'book', '--json']);
    expect(run.complaints).toBe('toolcrib: declined, because nobody is at a terminal: Where to?\n');
    expect(JSON.parse(run.output)).toMatchObject({ structuredContent: { action: 'decline' } });
  });

  async function answerWith(...answers: (string | undefined)[]): Promise<{ result: unknown; said: string }> {
    let said = '';
    const handlers = askingHandlers({
      ask: (question) => {
        said += `${question}\n`;
        return Promise.resolve(answers.shift());
      },
      write: (text) => (said += text),
    });
    const client = await open(await serve([askForm]), { handlers });
    return { result: await client.callTool('book').data(), said };
  }

  test('are asked field by field, typed and checked, and sent with consent', async () => {
    const { result, said } = await answerWith('', 'Bern', 'many', '', 'huge', 'large', 'yes', 'y');
    expect(result).toEqual({
      action: 'accept',
      content: { city: 'Bern', nights: 1, size: 'large', quiet: true },
    });
    expect(said).toContain('asks: Where to?\n');
    expect(said).toContain('An answer is needed.');
    expect(said).toContain('Write one of: small, large.');
    expect(said).toMatch(/nights must be an integer, not "many"/);
  });

  test('show nothing of a server that a terminal would obey', async () => {
    let said = '';
    const answers = ['1', undefined];
    const { form } = askingHandlers({
      ask: (question) => {
        said += question;
        return Promise.resolve(answers.shift());
      },
      write: (text) => (said += text),
    });
    const requestedSchema = { type: 'object', properties: { 'a\u001B[2J': { type: '\u001B[2J' } } };
    const context = { server: 'shop\u001B[2J', signal: new AbortController().signal };
    await form!({ message: 'Go\u001B[2J', requestedSchema }, context);
    expect(said).toContain('must be a');
    expect(said).not.toContain('\u001B');
  });

  test('are declined with "n", and cancelled by the end of the input', async () => {
    expect((await answerWith('Bern', '2', 'small', '', 'n')).result).toEqual({ action: 'decline' });
    expect((await answerWith('Bern', undefined)).result).toEqual({ action: 'cancel' });
  });

  test('about a page show its whole address before it is opened', async () => {
    const opened: string[] = [];
    const said: string[] = [];
    const answers = ['y', 'no', undefined];
    const { url } = askingHandlers({
      ask: () => Promise.resolve(answers.shift()),
      write: (text) => said.push(text),
      open: async (page) => void opened.push(page),
    });
    const page = 'https://example.com/\u202Epay';
    const context = { server: 'shop', signal: new AbortController().signal } satisfies QuestionContext;
    const actions = [];
    for (let at = 0; at < 3; at++) actions.push((await url!({ message: 'Pay.', url: page }, context)).action);
    expect(actions).toEqual(['accept', 'decline', 'cancel']);
    expect(opened).toEqual([page]);
    expect(said[0]).toContain(String.raw`https://example.com/\u202epay`);
  });
});

describe('toolcrib login', () => {
  test('prints the page without a browser, takes the pasted address, and keeps tokens for the owner alone', async () => {
    const site = await startSite();
    site.server.answers.set('/mcp', ({ headers, body }) => {
      const isIn = site.authority.tokens.some((token) => headers.authorization === `Bearer ${token}`);
      if (!isIn) return undefined;
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
      const result = method === 'server/discover' ? discovered : { tools: [] };
      return { body: { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } } };
    });
    const home = temporaryFolder();
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), CI: '1' };

    const before = await runCommandLine(['list', site.url], env);
    expect(before.code).toBe(5);
    expect(before.complaints).toContain('toolcrib login');

    const child = startNode([cli, 'login', site.url, '--no-browser'], env);
    await expect.poll(() => child.complaints(), { timeout: 20_000 }).toContain('Paste');
    const page = /^ {2}(http\S+)$/m.exec(child.complaints())![1]!;
    child.process.stdin.write(`${await visit(page)}\n`);
    expect(await within(20_000, 'the sign-in', child.exit)).toMatchObject({ code: 0 });

    const folder = join(home, '.config/toolcrib/credentials');
    expect(statSync(folder).mode & 0o077).toBe(0);
    for (const file of readdirSync(folder)) {
      expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
      expect(readFileSync(join(folder, file), 'latin1')).not.toContain(site.authority.tokens.at(-1));
    }
    expect(await runCommandLine(['list', site.url], env)).toMatchObject({ code: 0 });

    expect(await runCommandLine(['logout', site.url], env)).toMatchObject({ code: 0 });
    expect(await runCommandLine(['list', site.url], env)).toMatchObject({ code: 5 });
  });
});
