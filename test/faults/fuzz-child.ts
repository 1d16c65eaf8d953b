import { openGoverned } from './governed.ts';
import { hammer } from './hammer.ts';

// A process of its own: an accident in it is counted, and its speed does not depend on who started it.
const [messages = 0, seed = 0] = process.argv.slice(2).map(Number);
const site = await openGoverned();
const timeline: string[] = [];
const report = (line: string): void => void timeline.push(line);
const outcome = await hammer({ seed, counts: 'short', report }, messages, (request) =>
  site.server.fetch(request),
);
await site.close();
process.stdout.write(JSON.stringify({ ...outcome, timeline }));
