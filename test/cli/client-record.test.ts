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
import { serve } from '../client/peers.ts';

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

test('a recording is one message a line, for its owner alone, and without credentials', async () => {
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

test('a replayed recording answers what was recorded, with its progress, and says what was not', async () => {
  const client = await connectStdio(process.execPath, [cli, 'replay', await recorded('21')]);
  onTestFinished(() => client.close());
  const told: unknown[] = [];
  const onProgress = (progress: unknown): void => void told.push(progress);
  expect(await client.callTool('double', { n: 21 }, { onProgress }).text()).toBe('42');
  expect(told).toEqual([{ progress: 1, total: 2 }]);
  await expect(client.callTool('double', { n: 4 })).rejects.toThrow(
    'The recording has no answer to tools/call {"name":"double","arguments":{"n":4}',
  );
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

test('a file that is no recording is refused with its line', async () => {
  const file = recordingFile();
  writeFileSync(file, '{"from":"client","message":{}}\n{"from":"nobody"}\n');
  const run = await runCommandLine(['replay', file]);
  expect([run.code, run.complaints]).toEqual([1, `toolcrib: ${file}:2: this is no line of a recording.\n`]);
});

test('lint and codegen take a server at an address, or one to start', async () => {
  const linted = await runCommandLine(['lint', await serve([double]), '--json']);
  expect(JSON.parse(linted.output)).toMatchObject({ tools: [{ name: 'double' }] });
  const { output } = await runCommandLine(['codegen', ...sdkServer]);
  expect(output).toContain('export interface ForecastInput {\n  city: string;');
});
