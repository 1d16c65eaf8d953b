import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { registryAgent } from '../../../test/host/registry-agent.ts';
import { defineTool } from '../../core/tool.ts';
import { Secrets } from '../../observe/secrets.ts';
import { scripted } from '../models/scripted.ts';
import { recordRun } from './record-run.ts';
import { readRecord, replay } from './replay.ts';
import { runAgent } from './run-agent.ts';

const KEY = 'correct-horse-battery';
const show = defineTool(
  {
    name: 'show',
    description: 'Shows.',
    input: { type: 'object', properties: { what: { type: 'string' } } },
  },
  ({ what }) => [
    { type: 'text', text: `${what}: ${KEY}` },
    { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' },
  ],
);
const steps = [{ toolCalls: [{ name: 'show', arguments: { what: `the key ${KEY}` } }] }, 'Shown.'];

function fileFor(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-run-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'run.ndjson');
}

async function recorded(file: string): Promise<void> {
  const secrets = new Secrets();
  secrets.add(KEY);
  const recorder = recordRun(file, { secrets, versions: { toolcrib: '1.2.3' } });
  try {
    await runAgent(await registryAgent([show], { server: 'depot' }), {
      model: scripted(steps, { name: 'gpt-test' }),
      prompt: `Show me, with ${KEY}.`,
      record: recorder.record,
      prices: { 'gpt-test': { input: 1, output: 1 } },
    });
  } finally {
    recorder.close();
  }
}

test('a run is recorded as it happens, one event a line, in a file that only its owner can read (002-27, 004-25)', async () => {
  const file = fileFor();
  writeFileSync(file, 'old', { mode: 0o644 });
  await recorded(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(lines).toMatchObject([
    {
      type: 'run:start',
      format: 1,
      agent: 'tester',
      model: 'gpt-test',
      versions: { toolcrib: '1.2.3', node: process.version },
    },
    { type: 'message', message: { role: 'user' } },
    { type: 'turn:start', turn: 1 },
    {
      type: 'answer',
      money: expect.any(Number),
      usage: { inputTokens: expect.any(Number) },
      ms: expect.any(Number),
    },
    { type: 'tool:start', tool: 'show', server: 'depot' },
    { type: 'tool:end', message: { isError: false }, ms: expect.any(Number) },
    { type: 'turn:start', turn: 2 },
    { type: 'answer', message: { text: 'Shown.' } },
    { type: 'run:end', ending: { kind: 'finished' }, usage: { calls: 1 } },
  ]);
  for (const line of lines) expect(line).toMatchObject({ at: expect.any(Number), run: expect.any(String) });
});

test('a record of a run has no secrets and no image data', async () => {
  const file = fileFor();
  await recorded(file);
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain(KEY);
  expect(text).not.toContain('aGVsbG8=');
  expect(text).toContain('[redacted:secret]');
});

test('a recorded run can be repeated by a model that needs no network', async () => {
  const file = fileFor();
  await recorded(file);
  const again = await registryAgent([show]);
  const run = await runAgent(again, { model: replay(readRecord(file)), prompt: 'Show me.' });
  expect(run).toMatchObject({ text: 'Shown.', ending: { kind: 'finished' } });
  expect(again.made).toEqual([{ name: 'show', args: { what: 'the key [redacted:secret]' } }]);
});

test('a truncated record is read up to its end, wherever that is', async () => {
  const file = fileFor();
  await recorded(file);
  const bytes = readFileSync(file);
  const whole = readRecord(file).events;
  for (let at = 0; at < bytes.length; at += 37) {
    writeFileSync(file, bytes.subarray(0, at));
    const { events } = readRecord(file);
    expect(events).toEqual(whole.slice(0, events.length));
  }
  writeFileSync(file, bytes);
  expect(readRecord(file).isCutOff).toBe(false);
  appendFileSync(file, '{"type":"ans');
  expect(readRecord(file)).toMatchObject({ isCutOff: true, events: whole });
});

test('a file that is not a record, or has a later version, is refused with its line', () => {
  const file = fileFor();
  writeFileSync(file, '{"type":"run:start","agent":"a","format":1}\nnonsense\n');
  expect(() => readRecord(file)).toThrow(`${file}:2: this is no line`);
  writeFileSync(file, '{"type":"run:start","agent":"a","format":2}\n');
  expect(() => readRecord(file)).toThrow('later version');
});

test('a run that cannot be recorded stops', async () => {
  const agent = await registryAgent([show]);
  const recorder = recordRun(fileFor());
  recorder.close();
  const run = runAgent(agent, { model: scripted(steps), prompt: 'Go.', record: recorder.record });
  await expect(run).rejects.toMatchObject({ code: 'record_unavailable' });
  expect(agent.made).toEqual([]);
});
