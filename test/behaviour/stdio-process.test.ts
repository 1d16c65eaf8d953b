import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runTypeScript, startNode, type Child } from './child.ts';
import { talkInLines } from './lines.ts';
import { revisions } from './matrix.ts';
import { openPeer, type Peer, type ToolResult } from './peer.ts';
import { firstFew } from '../property-runs.ts';

const said = ({ content }: ToolResult): unknown => (JSON.parse(content[0]!.text) as { said: unknown }).said;
const workshop = join(import.meta.dirname, 'fixtures/workshop.ts');

// Starting processes takes time; what differs between the others does not depend on pipes.
const newestAndOldest = revisions.filter(
  ({ version }) => version !== '2025-06-18' && version !== '2025-03-26',
);

describe.each(firstFew(newestAndOldest, 1))('$version over the pipes of a real process:', (revision) => {
  const { version, era, messages } = revision;

  async function connect(): Promise<{ child: Child; peer: Peer }> {
    const child = startNode([runTypeScript, workshop]);
    const talk = talkInLines(child.process.stdin, child.process.stdout);
    return { child, peer: await openPeer({ ...talk, close: async () => {} }, { version, era }) };
  }

  test('tools are listed and called, and the process exits cleanly when its input ends', async () => {
    const { child, peer } = await connect();
    const { tools } = await peer.list();
    expect(tools.map(({ name }) => name)).toEqual([
      'count_to',
      'echo',
      'explode',
      'hire_apprentice',
      'wait_forever',
    ]);
    expect(said(await peer.call('echo', { text: 'hello' }))).toBe('hello');
    child.process.stdin.end();
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.complaints()).toBe('');
  });

  test('text in any script survives pipes, wherever the bytes are split (004-06)', async () => {
    const { peer } = await connect();
    const text = '21 °C — 日本語 👩‍👩‍👧‍👦 \u2028 '.repeat(20_000);
    expect(said(await peer.call('echo', { text }, { pieceBytes: 65_537 }))).toBe(text);
  });

  test('a hundred simultaneous calls each get their own response', async () => {
    const { peer } = await connect();
    const texts = Array.from({ length: 100 }, (_, index) => `call ${index}`);
    const results = await Promise.all(texts.map((text) => peer.call('echo', { text })));
    expect(results.map(said)).toEqual(texts);
  });

  test('progress arrives in order before the response', async () => {
    const { peer } = await connect();
    const steps: unknown[] = [];
    const params = { name: 'count_to', arguments: { n: 3 }, _meta: { progressToken: 'count' } };
    await peer.result('tools/call', params, { onNotification: (message) => steps.push(message['params']) });
    expect(steps).toEqual(
      [1, 2, 3].map((step) => ({
        progressToken: 'count',
        progress: step,
        total: 3,
        ...(messages && { message: `step ${step}` }),
      })),
    );
  });

  test('an exception is logged to standard error and not sent to the client', async () => {
    const { child, peer } = await connect();
    const result = await peer.call('explode');
    const incident = /incident (\w+)/.exec(result.content[0]!.text)![1];
    expect(peer.wire.heard.join('')).not.toContain('secret of the workshop');
    child.process.stdin.end();
    await child.exit;
    const entry = JSON.parse(child.complaints());
    expect(entry).toMatchObject({ level: 'error', target: 'explode', incident });
    expect(entry.cause).toContain('secret of the workshop');
  });

  test('a call is cancelled by notification', async () => {
    const { child, peer } = await connect();
    const controller = new AbortController();
    const params = { name: 'wait_forever', _meta: { progressToken: 'wait' } };
    const options = { signal: controller.signal, onNotification: () => controller.abort() };
    expect(await peer.request('tools/call', params, options)).toBeUndefined();
    child.process.stdin.end();
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.complaints()).toBe('the wait was cancelled\n');
    expect(peer.wire.heard.filter((text) => text.includes('wait'))).toHaveLength(1);
  });

  test('a tool that is added while the process runs can be called at once, and subscribers are notified', async () => {
    const { peer } = await connect();
    await peer.call('hire_apprentice');
    expect((await peer.call('apprentice')).content).toEqual([{ type: 'text', text: 'at your service' }]);
    const announced = peer.wire.heard.filter((text) => text.includes('notifications/tools/list_changed'));
    expect(announced).toHaveLength(era === 'legacy' ? 1 : 0);
  });
});
