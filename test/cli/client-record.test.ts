import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { cli } from '../behaviour/child.ts';
import { runCommandLine } from '../behaviour/run-command-line.ts';
import { ECHO, makeUp, serve } from '../client/peers.ts';

const sdkServer = ['--', process.execPath, join(import.meta.dirname, 'fixtures/sdk-server.mjs')];

function recordingFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-record-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'traffic.ndjson');
}

const double = defineTool(
  { name: 'double', description: 'Doubles.', input: z.object({ n: z.number() }) },
  ({ n }, { progress }) => {
    progress(1, 2);
    return `${n * 2}`;
  },
);

async function recorded(n: string): Promise<string> {
  const file = recordingFile();
  const url = await serve([double]);
  const run = await runCommandLine([
    'call',
    url,
    'double',
    `n=${n}`,
    '--record',
    file,
    '--key',
    'secret-key',
  ]);
  expect(run).toMatchObject({ code: 0, output: `${Number(n) * 2}\n` });
  return file;
}

test('a recording has one message a line, is readable by its owner only, and has no credentials', async () => {
  const file = await recorded('21');
  const text = readFileSync(file, 'utf8');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { from: string; message: { method?: string } });
  expect(lines.map(({ from, message }) => `${from} ${message.method ?? 'answers'}`)).toEqual([
    'client server/discover',
    'server answers',
    'client tools/list',
    'server answers',
    'client tools/call',
    'server notifications/progress',
    'server answers',
  ]);
  expect(text).not.toContain('secret-key');
  expect(statSync(file).mode & 0o077).toBe(0);
});

test('a recording has what tells a server that nobody waits any more', async () => {
  const made = await makeUp(({ body, request, response, reply }) => {
    if (body['method'] === 'initialize')
      return reply({ protocolVersion: '2025-11-25', capabilities: { tools: {} } });
    if (body['method'] === 'tools/list') return reply({ tools: [ECHO] });
    if (body['method'] === 'tools/call') return;
    response.writeHead(request.method === 'POST' && body['id'] === undefined ? 202 : 405).end();
  });
  const file = recordingFile();
  const run = await runCommandLine(['call', made.url, 'echo', '--timeout', '1s', '--record', file]);
  expect(run.code).toBe(4);
  expect(readFileSync(file, 'utf8')).toMatch(
    /\{"from":"client","message":\{"jsonrpc":"2\.0","method":"notifications\/cancelled",.*timed out/,
  );
});

test('a replayed recording gives the recorded responses with their progress, and reports what was not recorded', async () => {
  const client = await connectStdio(process.execPath, [cli, 'replay', await recorded('21')]);
  onTestFinished(() => client.close());
  const told: unknown[] = [];
  const onProgress = (progress: unknown): void => void told.push(progress);
  expect(await client.callTool('double', { n: 21 }, { onProgress }).text()).toBe('42');
  expect(told).toEqual([{ progress: 1, total: 2 }]);
  await expect(client.callTool('double', { n: 4 })).rejects.toThrow(
    'The recording has no answer to tools/call {"name":"double","arguments":{"n":4}}; record it again.',
  );
});

const LONG = '9007199254740993';

/** A recording of these messages, letter by letter; those of the server begin with an arrow. */
function recordingOf(...messages: readonly string[]): string {
  const file = recordingFile();
  const lines = messages.map((message) =>
    message.startsWith('< ')
      ? `{"from":"server","message":{"jsonrpc":"2.0",${message.slice(2)}}}\n`
      : `{"from":"client","message":{"jsonrpc":"2.0",${message}}}\n`,
  );
  writeFileSync(file, lines.join(''));
  return file;
}

const OPENING = [
  `"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`,
  `< "id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}`,
  `"id":2,"method":"tools/list"`,
  `< "id":2,"result":{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}`,
];

test('a replay gives back long integers with all their digits, and tells requests apart by them', async () => {
  const call = (n: string): string => `"method":"tools/call","params":{"name":"pay","arguments":{"n":${n}}}`;
  const file = recordingOf(
    ...OPENING,
    `"id":3,${call(LONG)}`,
    `< "id":3,"result":{"content":[],"structuredContent":{"n":${LONG}}}`,
    `"id":4,${call('9007199254740992')}`,
    `< "id":4,"result":{"content":[],"structuredContent":{"n":1}}`,
  );
  const client = await connectStdio(process.execPath, [cli, 'replay', file]);
  onTestFinished(() => client.close());
  const { json } = await client.callTool('pay', { n: BigInt(LONG) });
  expect(json).toContain(`"structuredContent":{"n":${LONG}}`);
  expect(await client.callTool('pay', { n: 9007199254740992n }).data()).toEqual({ n: 1 });
  await expect(client.callTool('pay', { n: 9007199254740994n })).rejects.toThrow('"n":9007199254740994');
});

test('a replay repeats log entries and questions of the server in their order, and waits for the answers', async () => {
  const form = `"message":"Really?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":${LONG}}}}`;
  const file = recordingOf(
    ...OPENING,
    `"id":3,"method":"tools/call","params":{"name":"pay","arguments":{}}`,
    `< "method":"notifications/message","params":{"level":"info","data":{"step":1}}`,
    `< "id":"q1","method":"elicitation/create","params":{${form}}`,
    `"id":"q1","result":{"action":"accept","content":{"n":1}}`,
    `< "method":"notifications/message","params":{"level":"info","data":{"step":2}}`,
    `< "id":3,"result":{"content":[{"type":"text","text":"paid"}]}`,
  );
  const seen: unknown[] = [];
  const client = await connectStdio(process.execPath, [cli, 'replay', file], {
    handlers: {
      form: ({ message }) => {
        seen.push(message);
        return { action: 'decline' };
      },
    },
    onMessage: (from, text) => void (from === 'server' && seen.push(text)),
  });
  onTestFinished(() => client.close());
  client.on('log', ({ data }) => seen.push(data));
  for (let times = 0; times < 2; times++) {
    seen.length = 0;
    expect(await client.callTool('pay').text()).toBe('paid');
    expect(seen.filter((one) => typeof one === 'object' || one === 'Really?')).toEqual([
      { step: 1 },
      'Really?',
      { step: 2 },
    ]);
    expect(seen.find((one) => String(one).includes('elicitation/create'))).toContain(`"maximum":${LONG}`);
  }
});

test('a client of an older revision can use a recording of the newest', async () => {
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  const args = [cli, 'replay', await recorded('4')];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  const { content } = await client.callTool({ name: 'double', arguments: { n: 4 } });
  expect(content).toEqual([{ type: 'text', text: '8' }]);
});

test('a server of the official SDK is recorded and replayed in the revision it speaks', async () => {
  const file = recordingFile();
  const call = ['call', 'forecast', 'city=Bern'];
  const first = await runCommandLine([...call, '--record', file, ...sdkServer]);
  const again = await runCommandLine([...call, '--', process.execPath, cli, 'replay', file]);
  expect(first).toEqual({ code: 0, output: '{"city":"Bern"}\n', complaints: '' });
  expect(again).toEqual(first);
});

test('a file that is not a recording is refused with the line number', async () => {
  const file = recordingFile();
  writeFileSync(file, '{"from":"client","message":{}}\n{"from":"nobody"}\n');
  const run = await runCommandLine(['replay', file]);
  expect([run.code, run.complaints]).toEqual([
    1,
    `toolcrib: ${file}:2: this is not a line of a recording.\n`,
  ]);
});

test('lint and codegen work on a server at a URL, or on one that they start', async () => {
  const linted = await runCommandLine(['lint', await serve([double]), '--json']);
  expect(JSON.parse(linted.output)).toMatchObject({ tools: [{ name: 'double' }] });
  const { output } = await runCommandLine(['codegen', ...sdkServer]);
  expect(output).toContain('export interface ForecastInput {\n  city: string;');
});
