import { createRequire } from 'node:module';

/** A module as text: tools with costly schemas, tools that ask, detach and report, resources and a prompt. */
export function oddTools(): string {
  return `
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { definePrompt, defineResource, defineResourceTemplate, defineTool } from 'toolcrib';
import { z } from ${JSON.stringify(createRequire(import.meta.url).resolve('zod'))};
import { type } from ${JSON.stringify(createRequire(import.meta.url).resolve('arktype'))};

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
const names = Array.from({ length: 20 }, (_, index) => 'p' + index);
const wide = z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
const more = z.number().refine((value) => value > 1, 'Must be more than 1.');
const lists = (item) => z.array(z.array(item)).optional();
export const typed = defineTool({
  name: 'typed',
  description: 'For trying out, with the schemas of a library.',
  input: z.object({
    nonce: z.string(),
    union: lists(z.union([one, two, z.string(), z.boolean()])),
    both: lists(z.intersection(one, two)),
    wide: lists(wide),
    refined: lists(more),
    refinedOften: lists(z.number().superRefine((_, { addIssue }) => { for (let left = 10; left > 0; left--) addIssue('No.'); })),
    refinedBranches: lists(z.union([z.string(), more, more.max(5)])),
    refinedSides: lists(z.intersection(more, more.max(5))),
    refinedTexts: lists(z.string().min(5).regex(/^b/).email()),
    refinedLater: lists(z.number().refine(async (value) => value > 1, 'Must be more than 1.')),
    refinedMembers: z.array(z.record(z.string(), more)).optional(),
    lastBranch: lists(z.union([wide, wide.partial().required({ p0: true }), z.object({})])),
    lastRefined: lists(z.union([more, more.max(5), more.max(6), z.number()])),
    replaced: lists(z.object(Object.fromEntries(names.map((name) => [name, z.string().catch('')])))),
    prepared: lists(z.preprocess((value) => value, wide)),
  }),
  ...reads,
}, ({ nonce }) => nonce);

${ARKTYPE}

// Each is compiled, or not, when it is first called.
const largeOf = (index) => Object.fromEntries(Array.from({ length: 1500 }, (_, at) => ['p' + at, { type: 'string', maxLength: 1000 + index }]));
${[0, 1, 2, 3, 4, 5].map((index) => `export const large${index} = tool('large${index}', largeOf(${index}), ({ nonce }) => nonce ?? '');`).join('\n')}

${ASKING}

export const mirror = tool('mirror', {}, ({ load }) => load);

export const kept = tool('kept', {}, ({ nonce }) => nonce ?? '', acts);

${VITALS}

export const note = defineResource({ uri: 'note://all', name: 'all' }, () => 'for all');
export const day = defineResourceTemplate({ uriTemplate: 'note://{day}', name: 'day', complete: { day: () => ['today'] } }, ({ day }) => 'of ' + day);
export const greet = definePrompt({ name: 'greet', arguments: { who: { required: true, complete: () => ['you'] } } }, ({ who }) => 'Hello ' + who);
`;
}

const ARKTYPE = `
const above = type('number').narrow((value) => value > 1);
const wired = (name, fields) => {
  const optional = Object.entries(fields).map(([key, item]) => [key + '?', type(item).array().array()]);
  return defineTool({
    name,
    description: 'For trying out, with the schemas of a second library.',
    input: type({ nonce: 'string', ...Object.fromEntries(optional) }),
    ...reads,
  }, ({ nonce }) => nonce);
};
export const noted = wired('noted', {
  narrowed: above,
  patterns: '/^b/ & /^c/ & /^d/',
  formats: 'string.email | string.uuid | string.url | string.ip',
  branches: type({ a: 'string.email' }).or({ b: 'string.email' }),
});
export const turned = wired('turned', {
  numbers: type('string').pipe(Number).to(above),
  filled: { a: 'number = 5' },
});
`;

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
// How long the event loop was held up since the last look, in ms. Node's own monitor forgets a delay that begins
// right after a reset; this one only forgets what is over.
const TICK_MS = 10;
let tickedAt;
let longest = 0;
const tick = () => {
  const now = performance.now();
  longest = Math.max(longest, now - tickedAt - TICK_MS);
  tickedAt = now;
};
// How long this thread had a processor: no delay that it caused itself was longer.
let ran = 0;
const ranMs = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'utf8').split(' ')[0]) / 1e6;
export const vitals = tool('vitals', {}, () => {
  if (tickedAt === undefined) {
    tickedAt = performance.now();
    setInterval(tick, TICK_MS).unref();
  }
  tick();
  const blockMs = longest;
  longest = 0;
  const ranBefore = ran;
  ran = ranMs();
  const { heapUsed, rss, external, arrayBuffers } = process.memoryUsage();
  return JSON.stringify({ blockMs, ranMs: ran - ranBefore, heapUsed, rss, external, arrayBuffers });
});
`;
