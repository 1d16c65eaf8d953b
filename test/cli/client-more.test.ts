import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { definePrompt, defineResource, defineTool, ToolRegistry } from '../../src/index.ts';
import { dialogHandlers } from '../../src/cli/client/questions.ts';
import type { QuestionContext } from '../../src/client/question-handlers.ts';
import { cli, startNode } from '../behaviour/child.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { makeUp, open, serve } from '../client/peers.ts';
import { startServedSite, visit } from '../sign-in-site.ts';
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
  test('lists resources, shows text and saves other data to files', async () => {
    const [url, folder] = [await serve(library()), temporaryFolder()];
    const { output } = await runCommandLine(['read', url]);
    expect(output).toMatch(/^RESOURCE +NAME +HOLDS\nnote:\/\/a +a +A note\.\nnote:\/\/p +p\n$/);
    const note = await runCommandLine(['read', url, 'note://a']);
    expect(note).toMatchObject({ code: 0, output: String.raw`A note\u001b[2J.` + '\n' });
    const picture = await runCommandLine(['read', url, 'note://p', '--save', folder]);
    expect(picture.output).toContain('resource-1.png (image/png, 1 bytes)');
    expect(readdirSync(folder)).toEqual(['resource-1.png']);
    const twice = await runCommandLine(['read', url, 'note://a', 'note://p']);
    expect(twice).toMatchObject({ code: 1, complaints: expect.stringContaining('one word too many') });
  });

  test('lists what a server has whose revision an entry gives', async () => {
    const file = join(temporaryFolder(), 'toolcrib.yaml');
    writeFileSync(
      file,
      `mcpServers:\n  notes: {url: ${JSON.stringify(await serve(library()))}, protocol: 2026-07-28}\n`,
    );
    expect((await runCommandLine(['read', 'notes', '--from', file])).output).toContain('note://a');
    expect((await runCommandLine(['prompt', 'notes', '--from', file])).output).toContain('summarise');
  });

  test('reports a resource that does not exist', async () => {
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

test('toolcrib watch prints changes until Ctrl-C, and exits with 0', async () => {
  const registry = library();
  const child = startNode([cli, 'watch', await serve(registry), '--json']);
  let output = '';
  child.process.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await expect.poll(() => output, { timeout: 10_000 }).toContain('"watching"');
  // The server may get the subscription a moment later, so changes are made until one is announced.
  let count = 0;
  const change = (): string => {
    registry.registerTool(defineTool({ name: `late_${++count}`, description: 'Comes late.' }, () => 'late'));
    return output;
  };
  await expect.poll(change, { timeout: 10_000 }).toMatch(/"event":"tools changed","tools":\["late_1"/);
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('toolcrib watch ends when nobody reads on', async () => {
  const registry = library();
  const child = startNode([cli, 'watch', await serve(registry), '--json']);
  await child.outputUntil('"watching"');
  child.process.stdout.destroy();
  let count = 0;
  const change = (): number | null => {
    registry.registerTool(defineTool({ name: `late_${++count}`, description: 'Comes late.' }, () => 'late'));
    return child.process.exitCode;
  };
  await expect.poll(change).toBe(0);
});

test('toolcrib watch goes on when the stream of changes breaks off', async () => {
  let opened = 0;
  const made = await makeUp((got) => {
    if (got.body['method'] === 'server/discover')
      return got.reply({ supportedVersions: ['2026-07-28'], capabilities: { tools: { listChanged: true } } });
    if (got.body['method'] !== 'subscriptions/listen') return false;
    const send = got.stream();
    const params = { _meta: { 'io.modelcontextprotocol/subscriptionId': String(got.body['id']) } };
    send({ method: 'notifications/subscriptions/acknowledged', params });
    if (++opened === 1) return void got.response.end();
    send({ method: 'notifications/tools/list_changed', params });
  });
  const child = startNode([cli, 'watch', made.url]);
  expect(await child.outputUntil('tools changed')).toContain('watching');
  expect(child.complaints()).toBe('');
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('toolcrib watch says so at a server that does not promise to tell of changes, and waits', async () => {
  const made = await makeUp(() => false);
  const child = startNode([cli, 'watch', made.url]);
  await child.outputUntil('watching');
  await expect.poll(() => made.methods()).toContain('subscriptions/listen');
  expect(child.complaints()).toBe('toolcrib: The server does not promise to tell of changes.\n');
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('toolcrib prompt saves pictures in the folder that is named', async () => {
  const block = { type: 'image', data: Buffer.from('x').toString('base64'), mimeType: 'image/png' };
  const made = await makeUp(({ body, reply }) =>
    body['method'] === 'prompts/get' ? reply({ messages: [{ role: 'user', content: block }] }) : false,
  );
  const folder = temporaryFolder();
  const { output } = await runCommandLine(['prompt', made.url, 'draw', '--save', folder]);
  expect(output).toContain(`image saved: ${join(folder, 'draw-1.png')} (image/png, 1 bytes)\n`);
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

  test('are declined without a terminal, with a message', async () => {
    const run = await runCommandLine(['call', await serve([askForm]), 'book', '--json']);
    expect(run.complaints).toBe('toolcrib: declined, because nobody is at a terminal: Where to?\n');
    expect(JSON.parse(run.output)).toMatchObject({ structuredContent: { action: 'decline' } });
  });

  async function answerWith(...answers: (string | undefined)[]): Promise<{ result: unknown; said: string }> {
    let said = '';
    const handlers = dialogHandlers({
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

  test('are checked field by field, and take several choices with commas between', async () => {
    let said = '';
    const answers = ['2', '5', 'bird', 'cat, dog', '["dog"]', 'q', 'b', ''];
    const { form } = dialogHandlers({
      ask: (question) => {
        said += `${question}\n`;
        return Promise.resolve(answers.shift());
      },
      write: (text) => (said += text),
    });
    const pets = { type: 'array', items: { type: 'string', enum: ['cat', 'dog'] } };
    const titled = { type: 'string', oneOf: [{ const: 'b', title: 'Blue' }] };
    const requestedSchema = {
      type: 'object',
      properties: { age: { type: 'integer', minimum: 3 }, pets, more: pets, colour: titled },
    };
    const context = { server: 'shop', signal: new AbortController().signal };
    expect(await form!({ message: 'Who?', requestedSchema }, context)).toEqual({
      action: 'accept',
      content: { age: 5, pets: ['cat', 'dog'], more: ['dog'], colour: 'b' },
    });
    expect(said).toContain('  age: must be >= 3.\n');
    expect(said).toContain('pets (cat | dog, several with commas, optional): ');
    expect(said).toContain('  Write one of: cat, dog.\n');
  });

  test('show no terminal control characters of a server', async () => {
    let said = '';
    const answers = ['1', undefined];
    const { form } = dialogHandlers({
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

  test('are asked one after the other, however many a server asks at once', async () => {
    const said: string[] = [];
    const answers = ['Bern', '', 'y'];
    const { form, url } = dialogHandlers({
      ask: async (question) => {
        said.push(question);
        await pause(5);
        return answers.shift();
      },
      write: () => {},
    });
    const taken = new AbortController();
    const context = { server: 'shop', signal: new AbortController().signal } satisfies QuestionContext;
    const requestedSchema = { type: 'object', properties: { city: { type: 'string' } } };
    const asked = [
      form!({ message: 'Where to?', requestedSchema }, context),
      url!({ message: 'Pay.', url: 'https://example.com/a' }, { ...context, signal: taken.signal }),
      url!({ message: 'Pay.', url: 'https://example.com/b' }, context),
    ];
    taken.abort();
    expect(await Promise.all(asked.map(async (one) => one))).toEqual([
      { action: 'accept', content: { city: 'Bern' } },
      { action: 'cancel' },
      { action: 'accept' },
    ]);
    expect(said).toEqual(['city (string, optional): ', 'Send this? [Y/n] ', 'Open it? [y/N] ']);
  });

  test('about a page show its whole address before it is opened', async () => {
    const opened: string[] = [];
    const said: string[] = [];
    const answers = ['y', 'no', undefined];
    const { url } = dialogHandlers({
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
  test('prints the page without a browser, accepts the pasted address, and stores tokens readable by the owner only', async () => {
    const site = await startServedSite();
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

    const logout = await runCommandLine(['logout', site.url], env);
    expect(logout).toMatchObject({ code: 0, output: `Signed out of ${site.url}.\n` });
    expect(await runCommandLine(['list', site.url], env)).toMatchObject({ code: 5 });
    const again = await runCommandLine(['logout', site.url], env);
    expect(again).toMatchObject({ code: 0, output: `Nobody was signed in to ${site.url}.\n` });
  });

  test('does not claim a sign-in at a server that asked for none', async () => {
    const url = await serve(library());
    const home = temporaryFolder();
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), CI: '1' };
    expect(await runCommandLine(['login', url], env)).toMatchObject({
      code: 0,
      output: `${url} lists its tools without a sign-in, so there was none.\n`,
    });
    const { output } = await runCommandLine(['login', url, '--json'], env);
    expect(JSON.parse(output)).toEqual({ server: url, signedIn: false });
  });

  test('sends the headers of an entry, and refuses one with a credential that goes before a sign-in', async () => {
    const made = await makeUp(() => false);
    const home = temporaryFolder();
    const file = join(home, 'mcp.json');
    const far = { url: made.url, headers: { 'X-Team': 'north' } };
    const known = { url: made.url, headers: { authorization: 'Bearer mine' } };
    writeFileSync(file, JSON.stringify({ mcpServers: { far, known } }));
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), CI: '1' };
    expect(await runCommandLine(['login', 'far', '--from', file], env)).toMatchObject({ code: 0 });
    expect(made.got.map(({ request }) => request.headers['x-team'])).toEqual(['north', 'north']);
    expect(await runCommandLine(['login', 'known', '--from', file], env)).toMatchObject({
      code: 1,
      complaints: expect.stringContaining(
        '"known" has an Authorization of its own, which goes before a sign-in',
      ),
    });
  });

  test('says so at a server that takes keys alone', async () => {
    const web = createServer((request, response) => {
      response.writeHead(request.url === '/mcp' ? 401 : 404).end('{}');
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void web.close());
    const home = temporaryFolder();
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), CI: '1' };
    const { port } = web.address() as AddressInfo;
    const { complaints } = await runCommandLine(
      ['login', `http://127.0.0.1:${port}/mcp`, '--no-browser'],
      env,
    );
    expect(complaints).toContain(
      `http://127.0.0.1:${port}/register is not there. The server may take keys alone`,
    );
  });
});
