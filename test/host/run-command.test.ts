import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { runCommandLine, type Run } from '../behaviour/run-command-line.ts';
import { defineTool, type Tool } from '../../src/index.ts';
import { serve } from '../client/peers.ts';
import { sendStream, startEndpoint } from './model-endpoint.ts';
import { call, setUpRun, words, type RunSetup } from './run-setup.ts';

const NUMBERS = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const;
let wiped = 0;
const tools: readonly Tool<never>[] = [
  defineTool(
    { name: 'add', description: 'Adds.', input: NUMBERS, annotations: { readOnlyHint: true } },
    ({ a, b }) => String(a + b),
  ),
  defineTool({ name: 'wipe', description: 'Wipes the disk.' }, () => String(++wiped)),
];

interface Setup extends RunSetup {
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Run>;
}

// Nobody is at a terminal.
async function setUp(answers: readonly string[]): Promise<Setup> {
  const setup = await setUpRun(await serve(tools), answers);
  return {
    ...setup,
    run: ([question, ...flags], env = {}) =>
      runCommandLine(['run', setup.file, ...(question === undefined ? [] : [question]), ...flags], {
        ...setup.env,
        ...env,
      }),
  };
}

const adding = (): readonly string[] => [call('add', { a: 19, b: 23 }), words('It is 42.')];

test('toolcrib run answers a question, with a line for each call and a summary of use', async () => {
  const { run, model } = await setUp(adding());
  const { code, output, complaints } = await run(['What is 19 + 23?', '--yes']);
  expect({ code, output }).toEqual({ code: 0, output: 'It is 42.\n' });
  expect(complaints).toMatch(/✓ calc: add \{"a":19,"b":23\} [\d.]+ m?s\n.*tokens in.* · 1 call · /);
  expect(complaints).not.toContain('\u001B');
  expect(model.seen[0]!.headers.authorization).toBe('Bearer key-of-the-tiny-one');
});

test('nothing is started or sent before a person agreed to the file, and the question names host and variable', async () => {
  const { run, model } = await setUp(adding());
  const { code, complaints } = await run(['What is 19 + 23?']);
  expect(code).toBe(1);
  expect(complaints).toContain(`at ${new URL(model.url).host}, and sends it the content of $TINY_KEY`);
  expect(complaints).toMatch(/connects to calc at http:\/\/127\.0\.0\.1/);
  expect(model.seen).toEqual([]);
});

test('without a terminal, a call that may change something is refused, and the model continues (003-14, 003-17)', async () => {
  const { run, model } = await setUp([call('wipe', {}), words('I may not.')]);
  const before = wiped;
  const { code, output, complaints } = await run(['Wipe it.', '--yes']);
  expect({ code, output }).toEqual({ code: 0, output: 'I may not.\n' });
  expect(complaints).toContain('✗ calc: wipe');
  expect(JSON.stringify(model.seen[1]!.body)).toContain('a person has to agree');
  expect(wiped).toBe(before);
});

test('--mode autonomous asks for no confirmation', async () => {
  const { run } = await setUp([call('wipe', {}), words('Wiped.')]);
  const before = wiped;
  expect((await run(['Wipe it.', '--yes', '--mode', 'autonomous'])).output).toBe('Wiped.\n');
  expect(wiped).toBe(before + 1);
});

test('--json prints every event as a line, without the key', async () => {
  const { run } = await setUp(adding());
  const { output } = await run(['What is 19 + 23?', '--yes', '--json']);
  const events = output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string });
  expect(events.map(({ type }) => type)).toEqual([
    'run:start',
    'message',
    'turn:start',
    'answer',
    'tool:start',
    'tool:end',
    'turn:start',
    'text',
    'answer',
    'run:end',
  ]);
  expect(output).not.toContain('key-of-the-tiny-one');
});

test('a run that hits a limit has an exit code of its own, and the message names the setting', async () => {
  const { run } = await setUp(adding());
  const { code, complaints } = await run(['What is 19 + 23?', '--yes', '--max-calls', '0']);
  expect(code).toBe(7);
  expect(complaints).toContain('limits.calls');
});

test('a recorded run can be repeated without the model', async () => {
  const { run, model, folder } = await setUp(adding());
  await run(['What is 19 + 23?', '--yes', '--record', join(folder, 'run.ndjson')]);
  expect(readFileSync(join(folder, 'run.ndjson'), 'utf8')).not.toContain('key-of-the-tiny-one');
  const asked = model.seen.length;
  const { output, code } = await run(['What is 19 + 23?', '--yes', '--replay', join(folder, 'run.ndjson')], {
    TINY_KEY: '',
  });
  expect({ output, code }).toEqual({ output: 'It is 42.\n', code: 0 });
  expect(model.seen).toHaveLength(asked);
});

test('a model that needs a key ends the command like a server that needs a sign-in', async () => {
  const { run } = await setUp([]);
  const refusing = await startEndpoint((response) => response.writeHead(401).end('{}'));
  onTestFinished(() => refusing.close());
  const { code, complaints } = await run(['Hello.', '--yes', '--base-url', `${refusing.url}/v1`]);
  expect(code).toBe(5);
  expect(complaints).toContain('key');
});

test('a file without a model, and a missing question, are reported at once', async () => {
  const { run, folder } = await setUp([]);
  writeFileSync(join(folder, 'agent.yaml'), 'name: adder\n');
  expect(await run(['Hello.'])).toMatchObject({
    code: 1,
    complaints: expect.stringContaining('which one is to be used?'),
  });
  expect(await run([])).toMatchObject({ code: 1, complaints: expect.stringContaining('Say what to ask') });
});

test('a model given on the command line does not get the key that a file names', async () => {
  const { run } = await setUp([]);
  const other = await startEndpoint((response) => sendStream(response, words('Hello.')));
  onTestFinished(() => other.close());
  const { output } = await run(['Hello.', '--yes', '--model', 'other', '--base-url', `${other.url}/v1`]);
  expect(output).toBe('Hello.\n');
  expect(other.seen[0]!.headers.authorization).toBeUndefined();
});

test("model names of other programs are looked up in the user's own models.yaml", async () => {
  const { run, model, folder } = await setUp([words('Hello.')]);
  writeFileSync(join(folder, 'agent.yaml'), 'name: adder\nmodel: sonnet\n');
  mkdirSync(join(folder, 'toolcrib'));
  writeFileSync(
    join(folder, 'toolcrib/models.yaml'),
    `models:\n  sonnet: { name: tiny, baseUrl: "${model.url}/v1" }\nprices:\n  tiny: { input: 1000000, output: 0 }\n`,
  );
  const { output, complaints } = await run(['Hello.']);
  expect(output).toBe('Hello.\n');
  expect(complaints).toMatch(/cost \d+\.\d{4}/);
  expect(model.seen[0]!.body).toMatchObject({ model: 'tiny' });
});

test('a server without a sign-in ends the command before the model is called, and the message says what to do', async () => {
  const closed = await startEndpoint((response) =>
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  );
  onTestFinished(() => closed.close());
  const { file, env, model } = await setUpRun(`${closed.url}/mcp`, []);
  const { code, complaints } = await runCommandLine(['run', file, 'Hello.', '--yes'], env);
  expect({ code, complaints }).toMatchObject({ code: 5, complaints: expect.stringContaining('calc: ') });
  expect(complaints).toContain('toolcrib login');
  expect(model.seen).toEqual([]);
});

test('without a terminal, a question of a server during a run is declined with a message', async () => {
  const form = defineTool(
    { name: 'book', description: 'Books.', requires: ['elicitation'], annotations: { readOnlyHint: true } },
    async (_, { elicit }) =>
      (await elicit({ key: 'form', message: 'Where to?', schema: z.object({ city: z.string() }) })).action,
  );
  const { file, env, model } = await setUpRun(await serve([form]), [call('book', {}), words('Declined.')]);
  const { code, complaints } = await runCommandLine(['run', file, 'Book.', '--yes'], env);
  expect(code).toBe(0);
  expect(complaints).toContain('declined, because nobody is at a terminal: Where to?');
  expect(JSON.stringify(model.seen[1]!.body)).toContain('decline');
});
