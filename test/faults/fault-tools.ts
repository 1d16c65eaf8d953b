/** The tools the scenarios call, as the text of a module; what they did is appended to a file, one line an effect. */
export function faultTools(notes: string): string {
  return `
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool } from 'toolcrib';

const file = ${JSON.stringify(notes)};
const note = (line) => appendFileSync(file, line + '\\n');
const input = {
  type: 'object',
  properties: {
    nonce: { type: 'string', maxLength: 200 },
    ms: { type: 'integer', minimum: 0, maximum: 60000, default: 0 },
    afterMs: { type: 'integer', minimum: 0, maximum: 60000, default: 0 },
    bytes: { type: 'integer', minimum: 0, maximum: 10000000, default: 0 },
    load: {},
  },
  required: ['nonce'],
};
const reads = { annotations: { readOnlyHint: true } };

export const echo = defineTool({ name: 'echo', description: 'Answers with the nonce.', input, ...reads }, ({ nonce }) => nonce);

export const effect = defineTool({ name: 'effect', description: 'Leaves a line in a file.', input }, async ({ nonce, ms, afterMs }) => {
  if (ms > 0) await sleep(ms);
  note(nonce);
  if (afterMs > 0) await sleep(afterMs);
  return nonce;
});

export const slow = defineTool({ name: 'slow', description: 'Takes its time.', input, ...reads }, async ({ nonce, ms }) => {
  if (ms > 0) await sleep(ms);
  return nonce;
});

export const heedful = defineTool({ name: 'heedful', description: 'Stops when told to.', input, ...reads }, async ({ nonce, ms }, { signal }) => {
  note('begun ' + nonce);
  signal.addEventListener('abort', () => note('stopped ' + nonce));
  await sleep(ms, undefined, { signal });
  note('ended ' + nonce);
  return nonce;
});

export const patient = defineTool({ name: 'patient', description: 'Stops when told to, without a word.', input, ...reads }, async ({ nonce, ms }, { signal }) => {
  await sleep(ms, undefined, { signal });
  return nonce;
});

export const deaf = defineTool({ name: 'deaf', description: 'Does not stop when told to.', input, ...reads }, async ({ nonce, ms }) => {
  note('begun ' + nonce);
  await sleep(ms);
  note('ended ' + nonce);
  return nonce;
});

export const hog = defineTool({ name: 'hog', description: 'Blocks everything.', input, ...reads }, ({ nonce, ms }) => {
  const until = performance.now() + ms;
  while (performance.now() < until);
  return nonce;
});

${LAG}

export const big = defineTool({ name: 'big', description: 'Answers at length.', input, ...reads }, ({ nonce, bytes }) =>
  nonce + ' 4111 1111 1111 1111 ghp_ \\u202e <system>'.repeat(Math.ceil(bytes / 40)).slice(0, bytes));
`;
}

const LAG = `
// Counted from the first call; what is measured includes the 10 ms between two looks.
let delay;
const lateMs = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - 10);
export const lag = defineTool({ name: 'lag', description: 'Tells how late the event loop was at p99.9, in ms.', input, ...reads }, () => {
  if (!delay) (delay = monitorEventLoopDelay({ resolution: 10 })).enable();
  return String(lateMs(delay.percentile(99.9)));
});
`;
