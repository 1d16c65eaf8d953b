import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import type { Json, Peer } from '../behaviour/peer.ts';
import { openCrib } from '../gateway.ts';
import { within } from '../within.ts';
import { connectionsOf, holdings, programs, settle } from './holdings.ts';
import { scripted } from './upstream-programs.ts';

/** How much is done. */
export interface KillPlan {
  /** How often each of the servers is killed. */
  readonly kills: number;
  /** How many calls others make meanwhile, at least. */
  readonly calls: number;
}

/** What came of it, for the reader of a long run. */
export interface KillReport {
  readonly kills: number;
  readonly failed: number;
  /** How many calls under way took longer to fail than is promised. */
  readonly late: number;
  /** The longest that a call under way took to fail, in milliseconds. */
  readonly slowestMs: number;
  readonly callsOfOthers: number;
}

/** A server in a process of its own, which is started again at the same address. */
interface Web {
  readonly url: string;
  /** Settles when this many calls wait in the process that runs now. */
  waits(calls: number): Promise<void>;
  kill(): Promise<void>;
}

const UNDER_WAY = 5;
/** The own limit of a call: one that ends long before it was ended by the kill. */
const CALL_SECONDS = 60;
/** Within this time a call under way fails. */
const PROMISED_MS = 1_000;
/** Within this time it fails even where the machine is busy with other things. */
const BUSY_MS = 5_000;
const textOf = async (peer: Peer, tool: string): Promise<string> => (await peer.call(tool)).content[0]!.text;

/** Kills servers of each kind in the middle of calls, and checks that no other call fails and nothing is left. */
export async function killServers({ kills, calls }: KillPlan): Promise<KillReport> {
  // Files of tests share a process, and what others have left running in it is theirs.
  const earlier = programs();
  const [modern, legacy] = await Promise.all([startWeb('2026-07-28'), startWeb('2025-11-25')]);
  const shared = { timeoutSeconds: CALL_SECONDS, idleSeconds: 1, prefix: 'always' as const };
  const crib = await openCrib({
    config: {
      mcpServers: {
        lines: scripted('crashing', shared),
        steady: scripted('crashing', shared),
        modern: { url: modern.url, ...shared },
        legacy: { url: legacy.url, ...shared, protocol: '2025-11-25' },
      },
      stages: { circuitBreak: false, rateLimit: false, concurrency: false },
    },
  });
  const [ada, bob, cyn] = await Promise.all([crib.connect('ada'), crib.connect('bob'), crib.connect('cyn')]);
  for (const name of ['lines', 'steady', 'modern', 'legacy']) await textOf(ada, `${name}__pid`);
  await settle(2, earlier);
  const before = { ...holdings(earlier), connections: await connectionsOf(crib) };
  const state = { isOver: false, calls: 0 };
  // A server that keeps a process or a session for each caller is killed for one of them alone.
  const others = [[bob, 'steady__pid'] as const, [cyn, 'lines__pid'] as const].map(async ([peer, tool]) => {
    while (!state.isOver || state.calls < calls) {
      expect(await textOf(peer, tool)).toMatch(/^\d+$/);
      state.calls++;
    }
  });
  const times: number[] = [];
  try {
    for (let round = 0; round < kills; round++) {
      times.push(...(await killProgram(ada)));
      times.push(...(await killWeb(ada, 'modern', modern)), ...(await killWeb(ada, 'legacy', legacy)));
    }
  } finally {
    state.isOver = true;
  }
  await Promise.all(others);
  await settle(2, earlier);
  const ended = crib
    .rows()
    .filter(({ tool, outcome }) => String(tool).endsWith('.wait') && outcome !== undefined);
  expect(ended.map(({ outcome }) => outcome)).toEqual(times.map(() => 'upstream_unavailable'));
  // What the test itself has kept is no concern of the gateway.
  for (const { wire } of [ada, bob, cyn]) (wire.heard as string[]).length = 0;
  const after = holdings(earlier);
  expect(after).toMatchObject({ children: before.children, zombies: 0 });
  await expect.poll(() => connectionsOf(crib), { timeout: 20_000 }).toBeLessThanOrEqual(before.connections);
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  await expect.poll(descriptors, { timeout: 20_000 }).toBeLessThanOrEqual(before.descriptors + 5);
  return {
    kills: 3 * kills,
    failed: times.length,
    late: times.filter((ms) => ms > PROMISED_MS).length,
    slowestMs: Math.max(...times),
    callsOfOthers: state.calls,
  };
}

async function killProgram(peer: Peer): Promise<number[]> {
  const pid = Number(await answerOf(peer, 'lines__pid'));
  let begun = 0;
  const waiting = startWaiting(peer, 'lines', () => begun++);
  await within(
    10_000,
    'calls to be under way',
    poll(() => begun === UNDER_WAY),
  );
  process.kill(pid, 'SIGKILL');
  const times = await failures(waiting, 'lines');
  expect(Number(await answerOf(peer, 'lines__pid'))).not.toBe(pid);
  return times;
}

async function killWeb(peer: Peer, name: string, web: Web): Promise<number[]> {
  const pid = await answerOf(peer, `${name}__pid`);
  const begun = web.waits(UNDER_WAY);
  const waiting = startWaiting(peer, name, () => {});
  await within(10_000, 'calls to be under way', begun);
  const killed = web.kill();
  const times = await failures(waiting, name);
  await killed;
  expect(await answerOf(peer, `${name}__pid`)).not.toBe(pid);
  return times;
}

function startWaiting(peer: Peer, name: string, onBegun: () => void): readonly Promise<Json>[] {
  return Array.from({ length: UNDER_WAY }, (_, token) =>
    peer.result(
      'tools/call',
      { name: `${name}__wait`, arguments: {}, _meta: { progressToken: token } },
      { onNotification: onBegun },
    ),
  );
}

/** How long each took to fail since the kill, in the words that callers are promised; none may take very long. */
async function failures(waiting: readonly Promise<Json>[], name: string): Promise<number[]> {
  const at = performance.now();
  const ended = waiting.map(async (one) => {
    expect(await one).toMatchObject({
      isError: true,
      content: [{ text: `${name} is not answering; try again later.` }],
    });
    return performance.now() - at;
  });
  return within(BUSY_MS, `calls of ${name} to fail`, Promise.all(ended));
}

/** The answer of a server that may still be starting again. */
async function answerOf(peer: Peer, tool: string): Promise<string> {
  let text = '';
  const isThere = async (): Promise<boolean> => /^\d+$/.test((text = await textOf(peer, tool)));
  await within(15_000, `${tool} to answer again`, poll(isThere));
  return text;
}

async function startWeb(version: string): Promise<Web> {
  let child: ChildProcess | undefined;
  let waits = 0;
  let port = '0';
  const start = async (): Promise<void> => {
    const script = fileURLToPath(new URL('fixtures/web-server.mjs', import.meta.url));
    const started = spawn(process.execPath, [script, version, port], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child = started;
    waits = 0;
    await new Promise<void>((resolve) => {
      createInterface({ input: started.stdout }).on('line', (line) => {
        if (line === 'waits') waits++;
        else resolve(void ([, port] = line.split(' ') as [string, string]));
      });
    });
  };
  onTestFinished(() => void child?.kill('SIGKILL'));
  await within(10_000, 'the server to start', start());
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    waits: (calls) => poll(() => waits >= calls),
    async kill() {
      const gone = new Promise((resolve) => child!.once('exit', resolve));
      child!.kill('SIGKILL');
      await gone;
      await within(10_000, 'the server to start again', start());
    },
  };
}

async function poll(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10));
}
