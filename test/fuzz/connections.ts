import type { Random } from '../faults/scenario.ts';
import type { FuzzCase, Step } from './case.ts';
import { goodMessages, handshakes, mutated, mutationOf, soundCall, type Good } from './messages.ts';
import { headPieces, mutate } from './mutations.ts';

/** A request with a broken head: the bytes are all there is, and the client ends its side after them. */
export function brokenHead(random: Random): FuzzCase {
  const { line, headers, body } =
    random.next() < 0.7 ? requestOf(random.pick(goodMessages)) : bodiless(random);
  const fields = { ...common, ...headers, ...(body.length > 0 && { 'content-length': String(body.length) }) };
  const lines = [`${line} HTTP/1.1`, ...Object.entries(fields).map((field) => field.join(': ')), '', ''];
  let head = Buffer.from(lines.join('\r\n'));
  for (let change = random.between(1, 4); change > 0; change--)
    head = mutate(head, mutationOf(random, headPieces)) as Buffer<ArrayBuffer>;
  const bytes = Buffer.concat([head, body]);
  return { steps: [{ line: '', headers: {}, body: bytes, isPartial: true }], ending: 'half-close' };
}

/** Requests over some connections: ahead of answers, in parts, on streams that are left, resumed and deleted. */
export function script(random: Random): FuzzCase {
  const steps: Step[] = [];
  for (let left = random.between(1, 6); left > 0; left--) {
    const step = random.pick(kinds)(random);
    steps.push(step);
    // Nothing that follows a request without an end can be told from the rest of it.
    if (step.isPartial) return { steps, ending: random.pick(['half-close', 'hang-up']) };
  }
  const hasStream = steps.some(({ isStream }) => isStream);
  return { steps, ending: random.pick(hasStream ? ['hang-up'] : ['answered', 'half-close', 'hang-up']) };
}

const common = {
  host: '{host}',
  authorization: 'Bearer {key}',
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

function requestOf({ body, headers, isStream = false }: Good): Step & { readonly line: string } {
  return { line: 'POST /mcp', headers, body: Buffer.from(JSON.stringify(body)), isStream };
}

// Requests that are about a session, and those of the first HTTP transport.
function bodiless(random: Random): Step & { readonly line: string } {
  const headers = { 'mcp-session-id': `{session ${random.pick(handshakes)}}` };
  const resumed = { ...headers, 'last-event-id': random.pick(['{event}', '{event}x', 'abc.1', '']) };
  return random.pick([
    { line: 'GET /mcp', headers, body: NOTHING, isStream: true },
    { line: 'GET /mcp', headers: resumed, body: NOTHING, isStream: true },
    { line: 'GET /sse', headers: {}, body: NOTHING, isStream: true },
    { line: 'DELETE /mcp', headers: { 'mcp-session-id': `${headers['mcp-session-id']}x` }, body: NOTHING },
    { line: 'OPTIONS /mcp', headers: { origin: 'http://127.0.0.1' }, body: NOTHING },
    { line: 'PUT /mcp', headers: {}, body: NOTHING },
  ]);
}

const NOTHING = Buffer.alloc(0);
// Streams take a connection of their own; what is sent there afterwards waits behind them.
const STREAMS_ON = 10;
const MORE = 20;

const kinds: readonly ((random: Random) => Step)[] = [
  () => requestOf(soundCall),
  (random) => ({ ...requestOf(soundCall), isAhead: true, on: random.between(0, 1) }),
  (random) => onOwn(mutated(random), random),
  (random) => onOwn(mutated(random), random),
  (random) => onOwn(requestOf(random.pick(goodMessages)), random),
  (random) => onOwn(bodiless(random), random),
  (random) => onOwn(bodiless(random), random),
  (random) => ({ ...mutated(random), line: 'POST {messages}', isStream: false, on: 1 }),
  (random) => ({
    ...requestOf(soundCall),
    line: 'DELETE /mcp',
    headers: { 'mcp-session-id': `{session ${random.pick(handshakes)}}${random.next() < 0.1 ? '' : 'x'}` },
    body: NOTHING,
  }),
  half,
  chunked,
];

// Anything that may open a stream takes a connection that nothing is waited for on again.
function onOwn(step: Step, random: Random): Step {
  if (!step.isStream) return { ...step, on: random.between(0, 1) };
  return { ...step, on: STREAMS_ON + random.between(0, MORE) };
}

// The head promises more than comes.
function half(random: Random): Step {
  const step = requestOf(random.pick(goodMessages));
  const cut = random.between(0, step.body.length - 1);
  return {
    ...step,
    headers: { ...step.headers, 'content-length': String(step.body.length) },
    body: step.body.subarray(0, cut),
    on: random.between(0, 1),
    isPartial: true,
    isStream: false,
  };
}

function chunked(random: Random): Step {
  const step = random.next() < 0.5 ? requestOf(soundCall) : { ...mutated(random), isStream: false };
  const chunks: Buffer[] = [];
  for (let at = 0; at < step.body.length;) {
    const size = Math.min(random.between(1, 200), step.body.length - at);
    chunks.push(
      Buffer.from(`${size.toString(16)}\r\n`),
      step.body.subarray(at, at + size),
      Buffer.from('\r\n'),
    );
    at += size;
  }
  const headers = { ...step.headers, 'transfer-encoding': 'chunked' };
  let body: Buffer = Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
  if (random.next() < 0.5) return { ...step, headers, body, isPartial: true };
  for (let change = random.between(1, 3); change > 0; change--)
    body = mutate(
      body,
      mutationOf(random, ['\r\n', '0\r\n\r\n', '-1\r\n', ';x=y', 'ffffffff\r\n', 'fffffffffffffffff\r\n']),
    );
  return { ...step, headers, body, isPartial: true };
}
