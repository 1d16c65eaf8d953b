import { expect, test } from 'vitest';
import { createServer, defineTool, ToolRegistry } from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { openCrib, type Crib } from '../gateway.ts';
import type { Peer, ToolResult } from '../behaviour/peer.ts';
import { connectionsOf, holdings, sessions, settle } from './holdings.ts';
import { childrenOf } from './process-counts.ts';
import { scripted } from './upstream-programs.ts';

// More by hand: TOOLCRIB_SOAK_CALLS=100000, and TOOLCRIB_SOAK_SEED for the same run again.
const CALLS = Number(process.env['TOOLCRIB_SOAK_CALLS'] ?? 4_000);
const SEED = Number(process.env['TOOLCRIB_SOAK_SEED'] ?? Date.now() % 1_000_000);
// Long enough to start a program on a busy machine: a longer start is a hang.
const CALL_SECONDS = 6;
// So that there are hangs in every run.
const CALLS_PER_HANG = 500;
const CALLS_PER_DISTURBANCE = 50;
const AT_ONCE = 16;
const OLDER = { protocol: '2025-11-25' };

// A generator of our own, so that a run can be repeated.
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const echo = defineTool({ name: 'work', description: 'Works.' }, () => 'worked');

/** Serves a tool on a port that stays the same when it is started again. */
async function startWeb(port = 0): Promise<{ url: string; port: number; close: () => Promise<void> }> {
  const source = new ToolRegistry().registerTool(echo);
  const server = createServer({ name: 'web', source, log: () => {} });
  const listening = await listen(server, { port });
  const { url } = listening;
  const close = async (): Promise<void> => {
    await listening.close(0);
    // A server keeps its sessions for clients that come back; nobody comes back to this one.
    server.dismiss(() => true);
  };
  return { url, port: Number(new URL(url).port), close };
}

const STEADY = new Set(['web_0', 'lines_0', 'web_4', 'lines_4']);
const NAMES = Array.from({ length: 5 }, (_, index) => [`web_${index}`, `lines_${index}`]).flat();
/** The programs that crash and hang. */
const UNSTEADY = NAMES.filter((name) => name.startsWith('lines') && !STEADY.has(name));
/** The servers that every other reload adds or removes. */
const PASSING = ['web_passing', 'lines_passing'];
/** One of those whose options every reload changes, so that its connections are replaced. */
const CHANGED = 'lines_4';

function configOf(webs: readonly { readonly url: string }[], round: number): object {
  const shared = { timeoutSeconds: CALL_SECONDS, idleSeconds: 5, prefix: 'always' };
  const changed = { ...shared, parallel: 20 + (round % 50) };
  const entries = webs.flatMap(({ url }, index) => [
    // Half of them keep sessions.
    [`web_${index}`, { url, ...(index === 4 ? changed : shared), ...(index % 2 === 0 && OLDER) }],
    [`lines_${index}`, scripted('soaking', index === 4 ? changed : shared)],
  ]);
  const passing = [
    ['web_passing', { url: webs[0]!.url, ...shared, ...OLDER }],
    ['lines_passing', scripted('soaking', shared)],
  ];
  return {
    mcpServers: Object.fromEntries(round % 2 === 0 ? [...entries, ...passing] : entries) as object,
    // Changes with each reload, and touches no connection.
    server: { instructions: `Round ${round}.` },
    stages: { circuitBreak: false, rateLimit: false, concurrency: false },
  };
}

/** Makes one call and tells what came of it. */
async function callOne(peer: Peer, server: string, tool: string): Promise<{ text: string; ms: number }> {
  const at = performance.now();
  const answer = await peer.request('tools/call', { name: `${server}__${tool}`, arguments: {} });
  const { result, error } = answer as { result?: Partial<ToolResult>; error?: { message: string } };
  return { text: result?.content?.[0]?.text ?? String(error?.message), ms: performance.now() - at };
}

// Node.js 20 closes an idle connection after five seconds, and its client may have sent something just then.
function isReset(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
  return cause?.code === 'ECONNRESET' || cause?.code === 'UND_ERR_SOCKET';
}

test(
  `calls to ten servers that crash, hang, restart and are reloaded leave nothing behind (seed ${SEED})`,
  { timeout: 120_000 + CALLS * 50 },
  async () => {
    const random = createRandom(SEED);
    const webs = await Promise.all(Array.from({ length: 5 }, () => startWeb()));
    const crib: Crib = await openCrib({ config: configOf(webs, 0) });
    // One of them has a session with the gateway.
    const peers = await Promise.all([
      crib.connect('ada'),
      crib.connect('bob'),
      crib.connect('cyn', { version: '2025-11-25' }),
    ]);
    for (const peer of peers) for (const name of NAMES) await callOne(peer, name, 'work');
    await settle();
    await expect.poll(() => connectionsOf(crib), { timeout: 30_000 }).toBe(0);
    const before = { ...holdings(), sessions: sessions() };
    expect(before.sessions).toBe(1);
    const failed = { steady: 0, untyped: [] as string[], late: [] as string[] };
    let slowestMs = 0;
    const counts = {
      begun: 0,
      calls: 0,
      crashes: 0,
      hangs: 0,
      hung: 0,
      failed: 0,
      resets: 0,
      restarts: 0,
      reloads: 0,
      replaced: 0,
      passing: 0,
      passed: 0,
      late: 0,
    };
    const one = async (): Promise<void> => {
      const isHang = ++counts.begun % CALLS_PER_HANG === CALLS_PER_HANG / 2;
      const among = isHang ? UNSTEADY : [...NAMES, ...PASSING];
      const server = among[Math.floor(random() * among.length)]!;
      const isCrash = random() < 0.02 && UNSTEADY.includes(server);
      const tool = isHang ? 'hang' : isCrash ? 'crash' : 'work';
      if (tool === 'crash') counts.crashes++;
      if (tool === 'hang') counts.hangs++;
      const peer = peers[Math.floor(random() * peers.length)]!;
      const { text, ms } = await callOne(peer, server, tool).catch((error: unknown) => {
        if (!isReset(error)) throw error;
        counts.resets++;
        return callOne(peer, server, tool);
      });
      // Shows the progress of a long run.
      if (++counts.calls % 10_000 === 0) console.log(JSON.stringify(counts));
      slowestMs = Math.max(slowestMs, ms);
      // A call ends within its time; a second more is for timers that are late.
      if (ms > 1_000 * (CALL_SECONDS + 1)) counts.late++;
      if (ms > 2_000 * CALL_SECONDS) failed.late.push(`${server} ${tool} ${ms}`);
      const isPassing = PASSING.includes(server);
      if (isPassing && text === `Unknown tool: ${server}__work`) return void counts.passed++;
      if (isPassing) counts.passing++;
      if (text === 'worked') return;
      if (tool === 'hang' && text.endsWith('did not answer in time.')) counts.hung++;
      counts.failed++;
      if (STEADY.has(server)) failed.steady++;
      if (!new RegExp(`^${server} (?:is not answering|did not answer in time)`).test(text))
        failed.untyped.push(text);
    };
    const disturb = async (): Promise<void> => {
      const at = 1 + Math.floor(random() * 3);
      if (random() < 0.5) {
        counts.restarts++;
        const { port, close } = webs[at]!;
        await close();
        webs[at] = await startWeb(port);
      } else {
        const pid = (await callOne(peers[0], CHANGED, 'pid')).text;
        crib.configure(configOf(webs, ++counts.reloads));
        await crib.reload();
        if ((await callOne(peers[0], CHANGED, 'pid')).text !== pid) counts.replaced++;
      }
    };
    const workers = Array.from({ length: AT_ONCE }, async () => {
      while (counts.calls < CALLS) await one();
    });
    const state = { isOver: false };
    const disturbing = (async () => {
      for (let next = 0; !state.isOver; next += CALLS_PER_DISTURBANCE) {
        while (counts.calls < next && !state.isOver) await new Promise((resolve) => setTimeout(resolve, 20));
        await disturb();
      }
    })();
    await Promise.all(workers);
    state.isOver = true;
    await disturbing;
    await settle();
    await expect.poll(() => connectionsOf(crib), { timeout: 30_000 }).toBe(0);
    // What the test itself has kept is no concern of the gateway.
    for (const { wire } of peers) (wire.heard as string[]).length = 0;
    crib.logged.length = 0;
    const after = { ...holdings(), sessions: sessions() };
    console.log(
      JSON.stringify({
        counts,
        slowestMs,
        before,
        after,
        failed: { ...failed, untyped: failed.untyped.slice(0, 5) },
      }),
    );
    expect(failed).toEqual({ steady: 0, untyped: [], late: [] });
    // A busy machine may stop for seconds, and then some calls are late; few are.
    expect(counts.late).toBeLessThanOrEqual(CALLS / 500);
    expect(counts.resets).toBeLessThanOrEqual(CALLS / 5_000);
    // What this is about has happened.
    const { crashes, hung, restarts, reloads, replaced, passing, passed } = counts;
    expect(Math.min(crashes, hung, restarts, reloads, passing, passed)).toBeGreaterThan(0);
    expect(replaced).toBe(reloads);
    expect(after.zombies).toBe(0);
    expect(after.children).toBe(before.children);
    expect(after.sessions).toBe(before.sessions);
    const descriptors = (): number => holdings().descriptors;
    await expect.poll(descriptors, { timeout: 20_000 }).toBeLessThanOrEqual(before.descriptors + 5);
    expect(after.heapMb).toBeLessThan(before.heapMb + 15);
    await crib.gateway.close();
    for (const web of webs) await web.close();
    expect(childrenOf(process.pid).zombies).toBe(0);
  },
);
