import { monitorEventLoopDelay } from 'node:perf_hooks';
import { byFetch, bySocket, byStdio, type Way } from './fuzz-ways.ts';
import { openGoverned, type Governed } from './governed.ts';
import { hammer } from './hammer.ts';
import { against } from './scenario.ts';

// A process of its own: an accident in it is counted, and its speed does not depend on who started it.
const [way = '', ...numbers] = process.argv.slice(2);
const [messages = 0, seed = 0] = numbers.map(Number);
const ways: Readonly<Record<string, (site: Governed) => Way | Promise<Way>>> = {
  fetch: byFetch,
  socket: bySocket,
  stdio: byStdio,
};
const BLOCK_MS = 100;
const RESOLUTION_MS = 10;
const site = await openGoverned();
const { send, close } = await ways[way]!(site);
const timeline: string[] = [];
const report = (line: string): void => void timeline.push(`${way}: ${line}`);
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
// The first few find everything unread and uncompiled, which says nothing about what messages take.
const first = await hammer({ seed: seed + 1_000, counts: 'short', report: () => {} }, 64, send);
delay.enable();
const rest = await hammer({ seed, counts: 'short', report }, messages, send);
delay.disable();
await close();
await site.close();
const blockMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
// Without a connection in between, the messages follow each other within one turn of the event loop, whatever each of them takes.
const figure = way === 'fetch' ? '' : `, longest block ${against(blockMs, BLOCK_MS)}`;
const counts = `${messages} by ${way}${figure}`;
process.stdout.write(
  JSON.stringify({
    counts,
    failures: [...first.failures, ...rest.failures].map((text) => `${way}: ${text}`),
    timeline,
  }),
);
