import { setTimeout as sleep } from 'node:timers/promises';
import { figure, type PartResult } from '../report.ts';
import { modernMeta, post } from '../requests.ts';
import { openStreams } from '../stream-load.ts';
import { type HttpTarget, withTargets } from '../target-process.ts';
import { residentMb } from '../usage.ts';

const STREAMS = 10_000;
// Long enough for the collector to have been by.
const SETTLE_MS = 2_000;

/** Holds ten thousand idle subscriptions and sees how fast a change reaches all of them. */
export async function streamsPart(): Promise<PartResult> {
  const spec = { name: 'toolcrib', file: 'toolcrib-streams', options: { tools: 1 } };
  const { perStreamKb, changeMs } = await withTargets([spec], async ([target]) => {
    if (!target) throw new Error('toolcrib was not started.');
    return measureStreams(target);
  });
  return {
    title: '7. Idle subscriptions',
    about: `${STREAMS.toLocaleString('en-US')} open \`subscriptions/listen\` streams of a hundred callers. Memory is what they add to the server process; the change is one tool added, timed from the call that adds it to the last stream that heard of it.`,
    table: {
      columns: ['Process', 'streams', 'kB a stream', 'change heard by all, ms'],
      rows: [['toolcrib', STREAMS.toLocaleString('en-US'), figure(perStreamKb), figure(changeMs)]],
    },
    goals: [
      { what: 'memory of an idle stream', measured: perStreamKb, bound: 'at most', goal: 30, unit: 'kB' },
      { what: 'a change reaches all', measured: changeMs / 1000, bound: 'at most', goal: 2, unit: 's' },
    ],
  };
}

async function measureStreams(target: HttpTarget): Promise<{ perStreamKb: number; changeMs: number }> {
  const warm = await openStreams(target.url, 100);
  warm.close();
  await sleep(SETTLE_MS);
  const before = residentMb(target.child);
  const streams = await openStreams(target.url, STREAMS);
  try {
    await sleep(SETTLE_MS);
    const perStreamKb = ((residentMb(target.child) - before) * 1000) / STREAMS;
    const heard = streams.changed();
    const start = performance.now();
    await changeTools(target);
    await heard;
    return { perStreamKb, changeMs: performance.now() - start };
  } finally {
    streams.close();
  }
}

async function changeTools({ url }: HttpTarget): Promise<void> {
  const params = { name: 'change_tools', arguments: {}, _meta: modernMeta };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'change_tools',
    'x-caller': 'changer',
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const { status } = await post(url, { headers, body });
  if (status !== 200) throw new Error(`The change was answered with ${status}.`);
}
