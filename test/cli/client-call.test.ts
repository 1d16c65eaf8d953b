import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/index.ts';
import { cli, startNode } from '../behaviour/child.ts';
import { deferred } from '../behaviour/deferred.ts';
import { runCommandLine, type Run } from '../behaviour/run-command-line.ts';
import { makeUp, said, serve } from '../client/peers.ts';
import { within } from '../within.ts';

const sdkServer = ['--', process.execPath, join(import.meta.dirname, 'fixtures/sdk-server.mjs')];

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-client-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const forecast = defineTool(
  {
    name: 'forecast',
    description: 'Forecasts the weather.\nFor a week at most.',
    input: z.object({
      city: z.string(),
      days: z.number().int().optional(),
      exact: z.boolean().optional(),
      tags: z.array(z.string()).optional(),
      at: z.object({ lat: z.number() }).optional(),
      zip: z.string().optional(),
    }),
  },
  (input) => input,
);

async function callForecast(...words: string[]): Promise<Run> {
  return runCommandLine(['call', await serve([forecast]), 'forecast', '--json', ...words]);
}

function dataOf({ output }: Run): unknown {
  return (JSON.parse(output) as { structuredContent: unknown }).structuredContent;
}

describe('toolcrib list', () => {
  test('says that a server without tools has none', async () => {
    const made = await makeUp(({ body, reply, refuse }) => {
      if (body['method'] === 'tools/list') return refuse(-32601, 'No such method.', { status: 404 });
      if (body['method'] !== 'server/discover') return false;
      return reply({ supportedVersions: ['2026-07-28'], capabilities: { prompts: {} } });
    });
    expect(await runCommandLine(['list', made.url])).toMatchObject({
      code: 0,
      output: 'The server has no tools.\n',
    });
  });

  test('shows the tools as a table', async () => {
    const { output, code } = await runCommandLine(['list', await serve([forecast])]);
    expect(code).toBe(0);
    expect(output).toMatch(/^TOOL +TAKES +DOES\nforecast +city, days\?, .* +Forecasts the weather\.\n$/);
  });

  test('shows one tool in full, with its arguments as a type', async () => {
    const { output } = await runCommandLine(['list', await serve([forecast]), 'forecast']);
    expect(output).toContain('For a week at most.\n');
    expect(output).not.toContain('codegen');
    expect(output).toMatch(/interface ForecastInput \{\n {2}city: string;\n {2}days\?: number;/);
  });

  test('shows the tools as TypeScript or JSON', async () => {
    const url = await serve([forecast]);
    expect((await runCommandLine(['list', url, '--types'])).output).toContain('export interface Tools {');
    const { output } = await runCommandLine(['list', url, '--json']);
    expect(JSON.parse(output)).toMatchObject({ tools: [{ name: 'forecast' }] });
  });

  test('lists the tools of an official SDK server that it starts itself', async () => {
    const { output } = await runCommandLine(['list', ...sdkServer]);
    expect(output).toMatch(/^TOOL[^]*\nforecast +city, days\?, tags\? +Forecasts\.\n/);
  });

  test('names the existing tools if the requested one is missing', async () => {
    const { code, complaints } = await runCommandLine(['list', await serve([forecast]), 'fore']);
    expect([code, complaints]).toEqual([1, 'toolcrib: There is no tool "fore"; there are: forecast.\n']);
  });
});

describe('toolcrib call', () => {
  test('names the existing tools if the requested one is missing', async () => {
    const { complaints, code } = await runCommandLine([
      'call',
      await serve([forecast]),
      'forcast',
      'city=Bern',
    ]);
    expect(complaints).toContain('There is no tool "forcast"; there are: forecast.');
    expect(code).toBe(1);
  });

  test("converts arguments to the types of the tool's schema", async () => {
    const words = ['city=Bern', 'days=3', 'exact=true', 'tags=a', 'tags=b', 'zip=3000', 'at={"lat":46.9}'];
    expect(dataOf(await callForecast(...words))).toEqual({
      city: 'Bern',
      days: 3,
      exact: true,
      tags: ['a', 'b'],
      zip: '3000',
      at: { lat: 46.9 },
    });
  });

  test('reads JSON after ":=", and text after "="', async () => {
    const run = await callForecast('city=a=b: c', 'days:=-3', 'tags:=["a,b"]');
    expect(dataOf(run)).toEqual({ city: 'a=b: c', days: -3, tags: ['a,b'] });
  });

  test.each([
    [['days=soon', 'city=Bern'], 'days must be an integer, not "soon"'],
    [['days:=soon', 'city=Bern'], 'days:= takes JSON'],
    [['city'], '"city" is no argument: write key=value, or key:=json.'],
    [['city=Bern', 'city=Basel'], 'city is there twice'],
    [['days=3'], 'city'],
  ])('refuses %j before the tool is called', async (words, complaint) => {
    const { code, complaints, output } = await callForecast(...words);
    expect(code).toBe(1);
    expect(complaints).toContain(complaint);
    expect(JSON.parse(output)).toMatchObject({ error: { message: expect.stringContaining(complaint) } });
  });

  test('names an argument that the schema does not have, and sends it', async () => {
    const made = await callForecast('city=Bern', 'dais=3');
    expect(made.code).toBe(0);
    expect(made.complaints).toBe(
      'toolcrib: The schema of forecast has no "dais", which is sent all the same; ' +
        'it has: city, days, exact, tags, at, zip.\n',
    );
    expect((await callForecast('city=Bern', 'days=3')).complaints).toBe('');
  });

  test.each([['--json'], ['--input']])('reads arguments from a file with %s', async (flag) => {
    const file = join(temporaryFolder(), 'arguments.json');
    writeFileSync(file, '{"city":"Bern","days":2}');
    const run = await callForecast(flag, file, 'days=3');
    expect(dataOf(run)).toEqual({ city: 'Bern', days: 3 });
  });

  test('reads arguments from standard input', async () => {
    const child = startNode([cli, 'call', await serve([forecast]), 'forecast', '--json', '-']);
    child.process.stdin.end('{"city":"Bern"}');
    expect(await child.outputUntil('}\n')).toContain('"structuredContent":{"city":"Bern"}');
  });

  test('calls an official SDK server that it starts, with environment variables and a key', async () => {
    const words = ['call', 'environment', '--env', 'TEAM=north', '--key', 'secret-key', ...sdkServer];
    const { output, code } = await runCommandLine(words, { UNRELATED: 'mine' });
    expect([code, output]).toEqual([0, 'north secret-key undefined\n']);
  });

  test('sends headers and a key to a remote server', async () => {
    const made = await makeUp(({ body, reply }) =>
      body['method'] === 'tools/call' ? reply(said('done')) : false,
    );
    await runCommandLine(['call', made.url, 'echo', '--header', 'X-Team: north', '--key', 'secret-key']);
    const { headers } = made.got.at(-1)!.request;
    expect([headers['x-team'], headers.authorization]).toEqual(['north', 'Bearer secret-key']);
  });

  test('prints large integers with all their digits', async () => {
    const made = await makeUp(({ body, response }) => {
      if (body['method'] !== 'tools/call') return false;
      response.setHeader('content-type', 'application/json');
      response.end(
        `{"jsonrpc":"2.0","id":${String(body['id'])},"result":{"content":[],"structuredContent":{"n":9007199254740993}}}`,
      );
      return true;
    });
    const { output } = await runCommandLine(['call', made.url, 'echo', '--json']);
    expect(output).toContain('{"n":9007199254740993}');
  });

  test('sends large integers with all their digits', async () => {
    const sent: string[] = [];
    const inputSchema = { type: 'object', properties: { id: { type: 'integer' } } };
    const made = await makeUp(({ body, text, reply }) => {
      if (body['method'] === 'tools/list') return reply({ tools: [{ name: 'pay', inputSchema }] });
      if (body['method'] !== 'tools/call') return false;
      sent.push(text);
      return reply(said('paid'));
    });
    const file = join(temporaryFolder(), 'arguments.json');
    writeFileSync(file, '{"id": 9007199254740993}');
    for (const words of [['id=9007199254740993'], ['id:=9007199254740993'], ['--json', file]])
      expect(await runCommandLine(['call', made.url, 'pay', ...words])).toMatchObject({ code: 0 });
    expect(sent).toHaveLength(3);
    for (const text of sent) expect(text).toContain('"arguments":{"id":9007199254740993}');
  });

  test('saves images under file names of its own, and overwrites nothing', async () => {
    const picture = (text: string, mimeType: string): object => ({
      type: 'image',
      data: Buffer.from(text).toString('base64'),
      mimeType,
    });
    const blocks = [picture('one', 'image/png'), picture('two', '../../evil\u001B[2J')];
    const made = await makeUp(({ body, reply }) =>
      body['method'] === 'tools/call' ? reply({ content: blocks }) : false,
    );
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'draw_x-1.png'), 'kept');
    const { output } = await runCommandLine(['call', made.url, 'draw/../x', '--save', folder]);
    expect(readdirSync(folder).toSorted()).toEqual(['draw_x-1.bin', 'draw_x-1.png', 'draw_x-2.png']);
    expect(readFileSync(join(folder, 'draw_x-1.png'), 'utf8')).toBe('kept');
    expect(output).toContain(`image saved: ${join(folder, 'draw_x-2.png')} (image/png, 3 bytes)\n`);
    expect(output).not.toContain('\u001B');
  });

  test('escapes terminal control characters in all text of a server', async () => {
    const evil = 'a\u001B]0;owned\u0007\u202Eb\rc\u200B';
    const tools = [{ name: `echo${evil}`, description: evil, inputSchema: { type: 'object', title: evil } }];
    const made = await makeUp(({ body, reply, refuse }) => {
      const { method, params } = body as { method: string; params: { name?: string } };
      if (method === 'tools/list') return reply({ tools });
      if (method !== 'tools/call') return false;
      return params.name === 'fails' ? refuse(-32000, evil) : reply(said(`${evil}\n\ttext`));
    });
    const runs = await Promise.all([
      runCommandLine(['list', made.url]),
      runCommandLine(['list', made.url, tools[0]!.name]),
      runCommandLine(['list', made.url, '--json']),
      runCommandLine(['list', made.url, '--types']),
      runCommandLine(['call', made.url, 'echo']),
      runCommandLine(['call', made.url, 'echo', '--json']),
      runCommandLine(['call', made.url, 'fails']),
    ]);
    for (const { output, complaints } of runs) {
      // oxlint-disable-next-line no-control-regex
      expect(output + complaints).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F\u200B\u202E]/);
    }
    expect(runs[4].output).toBe(String.raw`a\u001b]0;owned\u0007\u202eb\u000dc\u200b` + '\n\ttext\n');
  });
});

describe('the exit code shows', () => {
  test('that the tool ran and failed', async () => {
    const fail = defineTool({ name: 'fail', description: 'Fails.' }, () => ({ error: 'No luck.' }));
    const { code, output } = await runCommandLine(['call', await serve([fail]), 'fail']);
    expect([code, output]).toEqual([2, expect.stringContaining('No luck.')]);
  });

  test('that the server refuses, needs a sign-in, or cannot be reached', async () => {
    const made = await makeUp(({ request, response }) => {
      response.statusCode = request.headers['x-known'] === undefined ? 401 : 403;
      response.setHeader('content-type', 'application/json');
      response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Not you."}}');
    });
    const known = await runCommandLine(['call', made.url, 'echo', '--header', 'X-Known: yes', '--json']);
    const unknown = await runCommandLine(['call', made.url, 'echo', '--json']);
    const absent = await runCommandLine(['call', 'http://127.0.0.1:1/mcp', 'echo', '--json']);
    const codes = [known, unknown, absent].map(({ code, output }) => [
      code,
      (JSON.parse(output) as { error: { code: string } }).error.code,
    ]);
    expect(codes).toEqual([
      [3, 'refused'],
      [5, 'needs_sign_in'],
      [6, 'upstream_unavailable'],
    ]);
  });

  test('with valid JSON, whatever value of the command line is left out of it', async () => {
    const made = await makeUp(({ body, refuse }) =>
      body['method'] === 'tools/call'
        ? refuse(-32000, 'Not true.', { data: { final: true, code: 'done' } })
        : false,
    );
    const run = await runCommandLine(['call', made.url, 'echo', '--header', 'X-Debug: true', '--json']);
    expect(JSON.parse(run.output)).toEqual({
      error: { code: 'remote_error', message: 'Not ${...}.', final: true },
    });
  });

  test('that the call timed out', async () => {
    const made = await makeUp(({ body }) => body['method'] === 'tools/call');
    const { code, complaints } = await runCommandLine(['call', made.url, 'echo', '--timeout', '1s']);
    expect([code, complaints]).toEqual([4, 'toolcrib: tools/call echo had no answer within 1 s.\n']);
  });

  test('that a program could not be started, with its last error output', async () => {
    const program = ['--', process.execPath, '-e', 'console.error("no licence"); process.exit(3)'];
    const { code, complaints } = await runCommandLine(['list', ...program]);
    expect(code).toBe(6);
    expect(complaints).toMatch(/ended with exit code 3\.\nno licence/);
  });

  test('that a program does not answer, with what it wrote instead', async () => {
    const script = 'console.error("Ok to proceed? (y)"); setInterval(() => {}, 1000)';
    const program = ['--timeout', '1s', '--', process.execPath, '-e', script];
    const { code, complaints } = await runCommandLine(['list', ...program]);
    expect(code).toBe(4);
    expect(complaints).toMatch(
      /: server\/discover had no answer within the 1 s .*\.\nOk to proceed\? \(y\)\n$/,
    );
    expect(complaints.startsWith(`toolcrib: ${process.execPath} -e `)).toBe(true);
  });

  test('that the server answered with an error, in whose words', async () => {
    const made = await makeUp(({ body, refuse }) =>
      body['method'] === 'tools/call' ? refuse(-32050, 'Not today.') : false,
    );
    expect(await runCommandLine(['call', made.url, 'echo'])).toMatchObject({
      code: 2,
      complaints: 'toolcrib: The server answered with an error: Not today.\n',
    });
  });

  test.each([
    [['list'], 'Say which server'],
    [['list', 'ftp://example.com'], 'is no address'],
    [['call', 'http://127.0.0.1:1/'], 'Say which tool'],
    [['call', 'http://127.0.0.1:1/', 'x', '--timeout', 'long'], '--timeout takes a span'],
    [['call', 'http://127.0.0.1:1/', 'x', '--header', 'nothing'], '--header takes a name'],
    [['call', 'http://127.0.0.1:1/', 'x', '--env', 'A=b'], '--env is for servers that are started'],
    [['call', 'x', '--header', 'A: b', ...sdkServer], '--header is for servers at an address'],
  ])('that %j is a usage error', async (words, complaint) => {
    const { code, complaints } = await runCommandLine(words);
    expect(code).toBe(1);
    expect(complaints).toContain(complaint);
  });
});

test.each([
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s also ends a server that was started and does not end by itself', async (signal, code) => {
  const file = join(temporaryFolder(), 'pid');
  const program = `require('fs').writeFileSync(process.env.FILE, String(process.pid)); setInterval(() => {}, 1000);`;
  const server = ['--env', `FILE=${file}`, '--', process.execPath, '-e', program];
  const child = startNode([cli, 'list', ...server]);
  const pid = (): number => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
  await expect.poll(pid, { timeout: 20_000 }).toBeGreaterThan(0);
  onTestFinished(() => void (isRunning(pid()) && process.kill(pid(), 'SIGKILL')));
  child.process.kill(signal);
  expect(await child.exit).toEqual({ code, signal: null });
  await expect.poll(() => isRunning(pid()), { timeout: 5_000 }).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('Ctrl-C', () => {
  test('cancels the call at a server over HTTP', async () => {
    const [began, stopped] = [deferred(), deferred()];
    const wait = defineTool({ name: 'wait', description: 'Waits.' }, async (_, { signal }) => {
      began.resolve();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      stopped.resolve();
    });
    const child = startNode([cli, 'call', await serve([wait]), 'wait']);
    await within(20_000, 'the call', began.promise);
    child.process.kill('SIGINT');
    await within(10_000, 'the cancelled call', stopped.promise);
    expect(await child.exit).toEqual({ code: 130, signal: null });
    expect(child.complaints()).toBe('toolcrib: The request was cancelled.\n');
  });

  test.each([
    ['list', []],
    ['call', ['echo']],
    ['call', ['echo', 'text=x']],
    ['prompt', []],
    ['read', []],
  ])('ends toolcrib %s %j while a list does not come', async (command, words) => {
    const asked = deferred();
    const made = await makeUp(({ body, reply }) => {
      if (body['method'] === 'server/discover')
        return reply({
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {}, prompts: {}, resources: {} },
        });
      asked.resolve();
    });
    const child = startNode([cli, command, made.url, ...words]);
    await within(20_000, 'the list', asked.promise);
    child.process.kill('SIGINT');
    expect(await within(10_000, 'the end', child.exit)).toEqual({ code: 130, signal: null });
    expect(child.complaints()).toBe('toolcrib: The request was cancelled.\n');
  });

  test('cancels the call at a server that was started', async () => {
    const notes = join(temporaryFolder(), 'notes');
    const child = startNode([cli, 'call', 'wait', '--env', `NOTES=${notes}`, ...sdkServer]);
    const written = (): string => (existsSync(notes) ? readFileSync(notes, 'utf8') : '');
    await expect.poll(written, { timeout: 20_000 }).toBe('waiting\n');
    child.process.kill('SIGINT');
    expect((await child.exit).code).toBe(130);
    expect(written()).toBe('waiting\ncancelled\n');
  });
});
