import { expect, test } from 'vitest';
import { z } from 'zod';
import { createServer, defineTool, type Caller, type Server, type ServerOptions } from '../../src/index.ts';
import { createInMemory } from '../../src/core/memory/in-memory.ts';
import { MAX_ROUNDS } from '../../src/server/calls/seal.ts';
import { createFakeClock } from '../../src/testing.ts';
import { ada } from '../behaviour/matrix.ts';
import { open, serve } from '../client/peers.ts';
import { within } from '../within.ts';

const bob: Caller = { ...ada, id: 'bob' };
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'near', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
};
const YES = { action: 'accept', content: { sure: true } };

interface Far {
  /** How often the tool was run, and how often it was told to stop. */
  runs: number;
  readonly stopped: Promise<void>;
  readonly answered: Promise<void>;
  readonly url: string;
}

async function startFar(): Promise<Far> {
  let stop = (): void => {};
  let noteAnswer = (): void => {};
  const stopped = new Promise<void>((resolve) => (stop = resolve));
  const answered = new Promise<void>((resolve) => (noteAnswer = resolve));
  const ask = defineTool(
    { name: 'ask', description: 'Asks.', input: { type: 'object' } },
    async (args, { elicit, signal }) => {
      far.runs++;
      signal.addEventListener('abort', stop, { once: true });
      const { times = 1, hang = false } = args as { times?: number; hang?: boolean };
      for (let count = 0; count < times; count++)
        await elicit({ message: `Sure ${count}?`, schema: z.object({ sure: z.boolean() }) });
      noteAnswer();
      if (hang) await new Promise(() => {});
      return 'thanks';
    },
  );
  const far = { runs: 0, stopped, answered, url: await serve([ask], { log: () => {} }) };
  return far;
}

/** Our server in front of a server with a handshake, which asks while the call waits. */
async function startNear(options: Partial<ServerOptions> = {}): Promise<{ near: Server; far: Far }> {
  const far = await startFar();
  const source = await open(far.url, {
    protocol: '2025-11-25',
    capabilities: { elicitation: { form: {} } },
  });
  return { near: createServer({ source, log: () => {}, ...options }), far };
}

interface Reply {
  readonly result?: {
    readonly resultType: string;
    readonly requestState: string;
    readonly inputRequests: Record<string, { readonly params: { readonly message: string } }>;
    readonly content?: readonly { readonly text: string }[];
    readonly isError?: boolean;
  };
  readonly error?: { readonly code: number; readonly message: string };
}

async function send(near: Server, extra: object = {}, handling: object = {}): Promise<Reply> {
  const params = { name: 'ask', arguments: {}, _meta: META, ...extra };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params } as const;
  return (await within(
    5_000,
    'the answer',
    near.handle(message, { caller: ada, ...handling }),
  )) as unknown as Reply;
}

function retry(asked: Reply, answer: unknown = YES): object {
  const { requestState, inputRequests } = asked.result!;
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
  return { requestState, inputResponses };
}

test('a call with a question waits at the upstream, and the retry with the answer continues it', async () => {
  const { near, far } = await startNear();
  const asked = await send(near, { arguments: { times: 2 } });
  expect(asked.result?.resultType).toBe('input_required');
  const second = await send(near, { arguments: { times: 2 }, ...retry(asked) });
  expect(Object.values(second.result!.inputRequests).map(({ params }) => params.message)).toEqual([
    'Sure 1?',
  ]);
  const { result } = await send(near, { arguments: { times: 2 }, ...retry(second) });
  expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'thanks' }] });
  expect(far.runs).toBe(1);
});

test('an answer that does not fit the form is asked for again', async () => {
  const { near, far } = await startNear();
  const asked = await send(near);
  const again = await send(near, retry(asked, { action: 'accept', content: { sure: 'perhaps' } }));
  expect(again.result?.resultType).toBe('input_required');
  expect((await send(near, retry(again))).result?.content).toMatchObject([{ text: 'thanks' }]);
  expect(far.runs).toBe(1);
});

test('a call whose question gets no good answer is ended after as many rounds as a call may have', async () => {
  const { near, far } = await startNear();
  let reply = await send(near);
  let rounds = 1;
  for (; reply.result?.resultType === 'input_required' && rounds < 2 * MAX_ROUNDS; rounds++)
    reply = await send(near, retry(reply, { action: 'accept', content: { sure: 'perhaps' } }));
  expect(rounds).toBe(MAX_ROUNDS + 1);
  expect(reply.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(`asked ${MAX_ROUNDS} times`) as string }],
  });
  await within(5_000, 'the far tool to be stopped', far.stopped);
  expect(far.runs).toBe(1);
});

test('a waiting call can be continued once, by its own caller with the same tool and arguments', async () => {
  const { near } = await startNear();
  const asked = await send(near);
  const foreign = await send(near, retry(asked), { caller: bob });
  expect(foreign.error?.code).toBe(-32602);
  expect((await send(near, { ...retry(asked), arguments: { times: 3 } })).error?.code).toBe(-32602);
  expect((await send(near, retry(asked))).result?.content).toMatchObject([{ text: 'thanks' }]);
  expect((await send(near, retry(asked))).error?.code).toBe(-32602);
});

const ended = /no longer waits for answers/;

test('a call waits for an answer for ten minutes, and is then cancelled at the upstream', async () => {
  const clock = createFakeClock();
  const { near, far } = await startNear({ clock });
  await send(near);
  clock.advance(10 * 60_000 - 1);
  expect(far.runs).toBe(1);
  clock.advance(1);
  await within(5_000, 'the far tool to be stopped', far.stopped);
});

test('a waiting call ends when the key of its caller is revoked', async () => {
  const { near, far } = await startNear();
  const asked = await send(near);
  near.dismiss((caller) => caller.id === 'bob');
  near.dismiss((caller) => caller.id === 'ada');
  await within(5_000, 'the far tool to be stopped', far.stopped);
  expect((await send(near, retry(asked))).error?.message).toMatch(ended);
});

test('a waiting call ends when the server closes', async () => {
  const { near, far } = await startNear();
  const asked = await send(near);
  near.close();
  await within(5_000, 'the far tool to be stopped', far.stopped);
  expect((await send(near, retry(asked))).error?.message).toMatch(ended);
});

test('after a restart a retry gets an error that the call no longer waits', async () => {
  const memory = createInMemory();
  const { near } = await startNear({ memory });
  const asked = await send(near);
  const { near: restarted, far } = await startNear({ memory });
  const { error } = await send(restarted, retry(asked));
  expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(ended) });
  expect(far.runs).toBe(0);
});

test('a caller has at most twenty waiting calls, and does not affect other callers', async () => {
  const { near } = await startNear();
  const replies = await Promise.all(Array.from({ length: 21 }, () => send(near)));
  const refused = replies.filter(({ result }) => result?.isError);
  expect(refused.length).toBe(1);
  expect((await send(near, {}, { caller: bob })).result?.resultType).toBe('input_required');
});

test('a call that is continued after a question can still be cancelled', async () => {
  const { near, far } = await startNear();
  const given = { arguments: { hang: true } };
  const asked = await send(near, given);
  const caller = new AbortController();
  const resumed = send(near, { ...given, ...retry(asked) }, { signal: caller.signal });
  await within(5_000, 'the answer to arrive', far.answered);
  caller.abort();
  await within(5_000, 'the far tool to be stopped', far.stopped);
  expect(await resumed).toBeUndefined();
});

test('a call whose client leaves before its answers are taken is stopped', async () => {
  const { near, far } = await startNear();
  const asked = await send(near);
  const caller = new AbortController();
  const resumed = send(near, retry(asked), { signal: caller.signal });
  caller.abort();
  await within(5_000, 'the far tool to be stopped', far.stopped);
  expect(await resumed).toBeUndefined();
});

test('a client that cannot be asked is not asked, whatever was declared to the upstream', async () => {
  const { near } = await startNear();
  const _meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': {} };
  expect((await send(near, { _meta })).result).toMatchObject({ resultType: 'complete', isError: true });
});
