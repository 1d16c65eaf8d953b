import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { errorOf, openFileJournal, type Decision, type DecisionRequest } from '../../src/host.ts';
import { startNode } from '../behaviour/child.ts';
import { agentOf, next, sdkEntry, serverOf } from './agents.ts';

const unruly = join(import.meta.dirname, 'fixtures/unruly-server.mjs');
const sdkServer = join(import.meta.dirname, '../interop/fixtures/sdk-server.mjs');

async function recordFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-agent-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'record.ndjson');
}

function decideOn({ tool, arguments: args }: DecisionRequest): Decision {
  if (tool === 'modern__add') return { kind: 'deny', reason: 'No sums today.' };
  if (tool === 'book' && args['seats'] === 40) return { kind: 'edit', arguments: { seats: 4 } };
  return 'allow';
}

test("an agent's record has every call and every failure of its three servers", async () => {
  const file = await recordFile();
  const journal = await openFileJournal(file);
  onTestFinished(() => journal.close());
  const modern = (await startNode([sdkServer, 'v2', 'http']).outputUntil('\n')).trim();
  const agent = await agentOf(
    {
      old: serverOf(sdkEntry('v1')),
      modern: serverOf({ url: modern }),
      ours: serverOf({ command: process.execPath, args: [unruly], timeoutSeconds: 0.5 }),
    },
    {
      journal,
      onToolCall: decideOn,
      handlers: { form: ({ message }) => ({ action: 'accept', content: { colour: `green, ${message}` } }) },
    },
  );
  expect(agent.availableTools.map(({ name }) => name)).toEqual([
    'ask',
    'book',
    'crash',
    'flood',
    'grow',
    'hang',
    'modern__add',
    'modern__fail',
    'old__add',
    'old__fail',
  ]);

  expect(await agent.call('old__add', { a: 1, b: 2 })).toMatchObject({ data: { sum: 3 } });
  const denied = await agent.call('modern__add', { a: 1, b: 2 });
  expect(errorOf(denied)).toMatchObject({ code: 'refused', message: /No sums today/ });
  expect(await agent.call('book', { seats: 40 })).toMatchObject({ kind: 'done', data: { booked: 4 } });
  const late = await agent.call('hang', {});
  expect(errorOf(late)).toMatchObject({ code: 'timed_out' });
  expect(await agent.call('ask', {})).toMatchObject({ content: [{ text: 'green, Which colour?' }] });
  const flood = await agent.call('flood', {});
  const [block] = (flood.kind === 'done' && flood.content) || [];
  expect(block).toMatchObject({ text: expect.stringContaining('[cut here: ') as string });
  expect(JSON.stringify(block).length).toBeLessThan(1_001_000);

  const changed = next(agent, 'tools:changed');
  await agent.call('grow', {});
  await changed;
  expect(agent.beginTurn().map(({ name }) => name)).toContain('grown');

  const crashed = await agent.call('crash', {});
  expect(errorOf(crashed)).toMatchObject({ code: 'upstream_unavailable' });
  // The program is started again, and has the tools of a new program.
  expect(await agent.call('book', {})).toMatchObject({ data: { booked: 1 } });
  expect(agent.beginTurn().map(({ name }) => name)).not.toContain('grown');
  await agent.close();
  await journal.close();

  const rows = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const story = rows.flatMap(({ kind, tool, server, decision, outcome, state, approval }) => {
    if (kind === 'server') return [`${String(server)} is ${String(state)}`];
    if (kind === 'question') return [`${String(server)} asked: ${String(outcome)}`];
    if (kind === 'tools') return ['other tools'];
    if (kind === 'decision') return [`${String(tool)}? ${String(decision)}`];
    if (kind === 'intent') return [`${String(tool)} begins: ${String(approval)}`];
    return [`${String(tool)} ended: ${String(outcome)}`];
  });
  expect(story.slice(0, 3).toSorted()).toEqual([
    'modern is connected',
    'old is connected',
    'ours is connected',
  ]);
  // The call and the connection end at the same time, and are reported separately.
  const crash = story.indexOf('ours.crash begins: person') + 1;
  const endOfCrash = story.slice(crash, crash + 3);
  expect(endOfCrash.toSorted()).toEqual([
    'ours is connecting',
    'ours is failed',
    'ours.crash ended: upstream_unavailable',
  ]);
  expect(story.slice(3, -3)).toEqual([
    'old.add? allow',
    'old.add begins: person',
    'old.add ended: done',
    'modern.add? deny',
    'modern.add ended: refused',
    'ours.book? edit',
    'ours.book begins: person, edited',
    'ours.book ended: done',
    'ours.hang? allow',
    'ours.hang begins: person',
    'ours.hang ended: timed_out',
    'ours.ask? allow',
    'ours.ask begins: person',
    'ours asked: accept',
    'ours.ask ended: done',
    'ours.flood? allow',
    'ours.flood begins: person',
    'ours.flood ended: done',
    'ours.grow? allow',
    'ours.grow begins: person',
    expect.stringMatching(/^(ours\.grow ended: done|other tools)$/) as string,
    expect.stringMatching(/^(ours\.grow ended: done|other tools)$/) as string,
    'ours.crash? allow',
    'ours.crash begins: person',
    ...endOfCrash,
    'ours.book? allow',
    'ours.book begins: person',
    'other tools',
    'ours is connected',
    'ours.book ended: done',
  ]);
  expect(story.slice(-3).toSorted()).toEqual(['modern is disabled', 'old is disabled', 'ours is disabled']);
  expect(rows.find(({ decision }) => decision === 'edit')).toMatchObject({ arguments: '{"seats":4}' });
  expect(rows.find(({ kind, tool }) => kind === 'intent' && tool === 'ours.book')).toMatchObject({
    preview: '{"seats":4}',
  });
});
