import { byHeads, byHttp, byStreams } from './built-ways.ts';
import type { Way } from './case.ts';
import { hammer } from './hammer.ts';
import { byStdio } from './lines.ts';
import { byFetch } from './ways.ts';

// A process of its own: an accident in it is counted, and its speed does not depend on who started it.
const [name = '', ...numbers] = process.argv.slice(2);
const [seed = 0, from = 0, count = 0] = numbers.map(Number);
const ways: Readonly<Record<string, () => Promise<Way>>> = {
  fetch: byFetch,
  http: () => byHttp(),
  heads: byHeads,
  streams: byStreams,
  stdio: byStdio,
};
const way = await ways[name]!();
try {
  process.stdout.write(JSON.stringify(await hammer(way, { seed, from, count })));
} finally {
  await way.close();
}
