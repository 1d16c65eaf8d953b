import { createRequire } from 'node:module';

/** A module as text: tools with costly schemas, tools that ask, detach and report, resources and a prompt. */
export function oddTools(): string {
  return `
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { definePrompt, defineResource, defineResourceTemplate, defineTool } from 'toolcrib';
import { z } from ${JSON.stringify(createRequire(import.meta.url).resolve('zod'))};

const nonce = { type: 'string', maxLength: 200 };
const reads = { annotations: { readOnlyHint: true } };
// Going on with such a call after a question is free, because its state is good for one use.
const acts = { annotations: { destructiveHint: false } };
const yes = { type: 'object', properties: { yes: { type: 'boolean' } } };
const tool = (name, properties, run, rest = reads) =>
  defineTool({ name, description: 'For trying out.', input: { type: 'object', properties: { nonce, load: {}, ...properties } }, ...rest }, run);

export const strict = tool('strict', {
  unique: { type: 'array', uniqueItems: true },
  matched: { type: 'string', pattern: '^([a-z]+[0-9]?)*$' },
  listed: { type: 'array', items: { enum: ['a', 'b', 'c'] } },
  choices: { type: 'array', items: { anyOf: [{ type: 'object', required: ['a'] }, { type: 'object', required: ['b'] }, { type: 'integer' }] } },
  named: { type: 'object', patternProperties: { '^k[0-9]+$': { type: 'integer' } } },
}, ({ nonce }) => nonce ?? '');

const one = z.object({ a: z.string() });
const two = z.object({ b: z.string() });
const lists = (item) => z.array(z.array(item)).optional();
export const typed = defineTool({
  name: 'typed',
  description: 'For trying out, with the schemas of a library.',
  input: z.object({
    nonce: z.string(),
    union: lists(z.union([one, two, z.string(), z.boolean()])),
    both: lists(z.intersection(one, two)),
    wide: lists(z.object(Object.fromEntries(Array.from({ length: 20 }, (_, index) => ['p' + index, z.string()])))),
    refined: lists(z.number().refine((value) => value > 1, 'Must be more than 1.')),
  }),
  ...reads,
}, ({ nonce }) => nonce);

// Each is compiled, or not, when it is first called.
const largeOf = (index) => Object.fromEntries(Array.from({ length: 1500 }, (_, at) => ['p' + at, { type: 'string', maxLength: 1000 + index }]));
${[0, 1, 2].map((index) => `export const large${index} = tool('large${index}', largeOf(${index}), ({ nonce }) => nonce ?? '');`).join('\n')}

${ASKING}

export const mirror = tool('mirror', {}, ({ load }) => load);

export const kept = tool('kept', {}, ({ nonce }) => nonce ?? '', acts);

${VITALS}

export const note = defineResource({ uri: 'note://all', name: 'all' }, () => 'for all');
export const day = defineResourceTemplate({ uriTemplate: 'note://{day}', name: 'day', complete: { day: () => ['today'] } }, ({ day }) => 'of ' + day);
export const greet = definePrompt({ name: 'greet', arguments: { who: { required: true, complete: () => ['you'] } } }, ({ who }) => 'Hello ' + who);
`;
}

const ASKING = `
export const ask = tool('ask', {}, async ({ nonce }, { elicit }) => {
  runs++;
  // A name that changes makes every round ask something new.
  const { action } = await elicit({ message: 'Really?', schema: yes, key: 'sure' + runs });
  return action + ' ' + (nonce ?? '');
}, acts);
let runs = 0;
export const asked = tool('asked', {}, () => String(runs));

export const later = tool('later', { ms: { type: 'integer', default: 0, maximum: 60000 } }, async ({ nonce, ms }, { detach, signal }) => {
  detach();
  if (ms > 0) await sleep(ms, undefined, { signal });
  return nonce ?? '';
});

export const chatty = tool('chatty', { times: { type: 'integer', default: 3, maximum: 100 } }, async ({ nonce, times }, { progress, log }) => {
  for (let time = 0; time < times; time++) {
    progress(time, times, 'so far');
    log('info', { time });
    await sleep(1);
  }
  return nonce ?? '';
});
`;

const VITALS = `
// The longest delay of the event loop since the last look, in ms; it includes the 10 ms between two looks.
let delay;
export const vitals = tool('vitals', {}, () => {
  if (!delay) (delay = monitorEventLoopDelay({ resolution: 10 })).enable();
  const blockMs = Math.max(0, delay.max / 1e6 - 10);
  delay.reset();
  const { heapUsed, rss, external, arrayBuffers } = process.memoryUsage();
  return JSON.stringify({ blockMs, heapUsed, rss, external, arrayBuffers });
});
`;
