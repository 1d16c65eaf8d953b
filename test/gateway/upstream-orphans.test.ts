import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli, startNode, type Child } from '../behaviour/child.ts';
import { talkInLines } from '../behaviour/lines.ts';
import { openPeer, type Peer } from '../behaviour/peer.ts';
import { prepare } from '../served.ts';
import { childrenOf, commandOf, isAlive } from './process-counts.ts';
import { scripted } from './upstream-programs.ts';

/** Starts a gateway whose program ends neither with its input nor when asked to, and tells all its processes. */
async function startStubborn(): Promise<{ child: Child; peer: Peer; pids: readonly number[] }> {
  const config = { auth: undefined as never, access: undefined as never };
  const folder = prepare({
    config: { ...config, mcpServers: { stubborn: scripted('stubborn') } },
  });
  const child = startNode([cli, 'serve', '--stdio', '--config', join(folder, 'toolcrib.yaml')]);
  const talk = talkInLines(child.process.stdin, child.process.stdout);
  const legacy = { version: '2025-11-25', era: 'legacy' } as const;
  const peer = await openPeer({ ...talk, close: () => child.kill() }, legacy);
  const pids = (await peer.call('pids')).content[0]!.text.split(' ').map(Number);
  onTestFinished(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  expect(pids.map(isAlive)).toEqual([true, true]);
  return { child, peer, pids };
}

/** The process that ends programs after the gateway. */
function guardianOf(gateway: number): number | undefined {
  return childrenOf(gateway).alive.find((pid) => commandOf(pid)[0] === '/bin/sh');
}

test('no process of a program is left when the gateway is killed', async () => {
  const { child, pids } = await startStubborn();
  await child.kill();
  await expect.poll(() => pids.map(isAlive), { timeout: 5_000 }).toEqual([false, false]);
});

test('no process is left even if the guardian process was killed before', async () => {
  const { child, peer, pids } = await startStubborn();
  const guardian = guardianOf(child.process.pid!)!;
  process.kill(guardian, 'SIGKILL');
  await expect
    .poll(() => guardianOf(child.process.pid!), { timeout: 5_000 })
    .not.toBeOneOf([undefined, guardian]);
  // Once it answers again, it has told the new one what to take care of.
  await peer.call('pids');
  await child.kill();
  await expect.poll(() => pids.map(isAlive), { timeout: 5_000 }).toEqual([false, false]);
});
