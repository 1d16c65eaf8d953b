import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { defineTool } from '../../src/core/tool.ts';
import { createServer } from '../../src/server/create-server.ts';
import { serveStdio } from '../../src/server/stdio.ts';
import { recordingSource } from '../../src/testing.ts';
import { handshakeVersions } from './attack.ts';
import { Client, Events, type RequestOptions } from './client.ts';
import { propertyRuns } from '../property-runs.ts';
import { ada, bob, cyn, otherAda, signsIn } from './people.ts';
import { leakedAnswers, type JsonRpcAnswer } from './raw-http.ts';
import { product, type Target } from './target.ts';

const CLIENTS = 50;
// Calls of each; A10 of the fault tests makes more of them.
const CALLS = propertyRuns(30, 10);
const people = [ada, bob, cyn, otherAda];

// Always the same, so that a failure can be looked at again.
let seed = 20_260_728;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed % below;
};

const echo = defineTool(
  {
    name: 'echo',
    description: 'Says what it was told, after a while.',
    input: { properties: { nonce: { type: 'string' } } },
  },
  async ({ nonce }, { progress, caller }) => {
    await turns(random(4));
    progress(1, 1, String(nonce));
    return `${String(nonce)} for ${caller.tenant.id}.${caller.id}`;
  },
);

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await turn();
}

const nonceOf = (client: number, call: number): string => `nonce-${client}-${call}`;
const expected = ({ caller: { tenant, id } }: Client, nonce: string): string =>
  `${nonce} for ${tenant.id}.${id}`;
const textOf = (answer: JsonRpcAnswer | undefined): unknown =>
  (answer?.result?.['content'] as { text: string }[] | undefined)?.[0]?.text;

/** How many of its answers each of many clients got as its own. */
async function matches(
  target: Target,
  ask: (client: Client, index: number) => Promise<(nonce: string, id: number) => RequestOptions>,
  calls = CALLS,
): Promise<number> {
  const counts = await Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const client = new Client(target, people[index % people.length]);
      const toRequest = await ask(client, index);
      let count = 0;
      for (let start = 0; start < calls; start += 10) {
        const batch = Array.from({ length: 10 }, async (_item, offset) => {
          const nonce = nonceOf(index, start + offset);
          const { json } = await client.send(toRequest(nonce, start + offset));
          if (json?.id === start + offset && textOf(json) === expected(client, nonce)) count++;
        });
        await Promise.all(batch);
      }
      return count;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

test('A10 fifty clients that all count their ids from 0 each get their own responses', async () => {
  const target = await product(signsIn, [echo]);
  const count = await matches(
    target,
    async (client) => (nonce, id) => client.modern('tools/call', { name: 'echo', arguments: { nonce } }, id),
  );
  expect(count).toBe(CLIENTS * CALLS);
});

test('A10 fifty clients on sessions of every revision, all counting from 0, each get their own responses', async () => {
  const target = await product(signsIn, [echo]);
  const count = await matches(target, async (client, index) => {
    const session = await client.startSession(handshakeVersions[index % handshakeVersions.length]!);
    return (nonce, id) => client.old('tools/call', { name: 'echo', arguments: { nonce } }, { session, id });
  });
  expect(count).toBe(CLIENTS * CALLS);
});

test('A10 control: a server that answers in order of arrival mixes responses up', async () => {
  const target = await mixingServer();
  const count = await matches(
    target,
    async (client) => (nonce, id) => client.modern('tools/call', { name: 'echo', arguments: { nonce } }, id),
    10,
  );
  expect(count).toBeLessThan(CLIENTS * 10);
});

test('A10 on one session shared by many connections each response and its progress go to the right request', async () => {
  const target = await product(signsIn, [echo]);
  const client = new Client(target);
  const session = await client.startSession('2025-11-25');
  const calls = Array.from({ length: propertyRuns(500, 200) }, async (_, id) => {
    const nonce = nonceOf(0, id);
    const params = { name: 'echo', arguments: { nonce }, _meta: { progressToken: id } };
    const { headers, ...call } = client.old('tools/call', params, { session, id });
    const events = new Events(
      await client.open({ ...call, headers: { ...headers, accept: 'text/event-stream' } }),
    );
    const [progress, answer] = [await events.next(), await events.next()];
    expect(progress?.params).toEqual({ progressToken: id, progress: 1, total: 1, message: nonce });
    expect([answer?.id, textOf(answer)]).toEqual([id, expected(client, nonce)]);
  });
  await Promise.all(calls);
});

test('A10 fifty clients of the SSE transport that all count from 0 each get their own responses', async () => {
  const target = await product({ ...signsIn, sse: true }, [echo]);
  const streams = people.map(async (caller, index) => {
    const client = new Client(target, caller);
    const events = new Events(await client.open({ method: 'GET', path: '/sse' }));
    const path = (await events.nextData())!;
    const posts = Array.from({ length: CALLS }, (_, id) =>
      client.send({
        path,
        ...client.old('tools/call', { name: 'echo', arguments: { nonce: nonceOf(index, id) } }, { id }),
      }),
    );
    await Promise.all(posts);
    const answers = new Map<unknown, unknown>();
    while (answers.size < CALLS) {
      const answer = await events.next();
      answers.set(answer?.id, textOf(answer));
    }
    expect(answers).toEqual(
      new Map(Array.from({ length: CALLS }, (_, id) => [id, expected(client, nonceOf(index, id))])),
    );
  });
  await Promise.all(streams);
});

test('A10 queued responses come on the stream of the session that asked', async () => {
  const target = await product({ ...signsIn, delivery: 'queued' }, [echo]);
  const streams = people.map(async (caller, index) => {
    const client = new Client(target, caller);
    const session = await client.startSession('2025-06-18');
    const events = new Events(await client.open({ method: 'GET', headers: { 'mcp-session-id': session } }));
    for (let id = 0; id < CALLS; id++)
      await client.send(
        client.old('tools/call', { name: 'echo', arguments: { nonce: nonceOf(index, id) } }, { session, id }),
      );
    for (let count = 0; count < CALLS; count++) {
      const answer = await events.next();
      expect(textOf(answer)).toBe(expected(client, nonceOf(index, answer?.id as number)));
    }
  });
  await Promise.all(streams);
});

test('A10 over stdio responses that overtake each other keep their ids', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const written = text(output);
  const server = createServer({ source: recordingSource(echo), log: () => {} });
  const served = serveStdio(server, { input, output, caller: ada });
  const client = new Client({ port: 0 });
  for (let id = 0; id < 500; id++)
    input.write(
      `${client.old('tools/call', { name: 'echo', arguments: { nonce: nonceOf(0, id) } }, { id }).body}\n`,
    );
  input.end();
  await served;
  output.end();
  const answers = (await written)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonRpcAnswer);
  expect(answers).toHaveLength(500);
  for (const answer of answers)
    expect(textOf(answer)).toBe(expected(client, nonceOf(0, answer.id as number)));
});

test('A10 no response reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

// Keeps the call at hand where every request can reach it, as real servers have done.
async function mixingServer(): Promise<Target> {
  let current: { id: unknown; nonce: string; who: string } | undefined;
  const http = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { id, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id: unknown;
        params: { arguments: { nonce: string } };
      };
      current = { id, nonce: params.arguments.nonce, who: String(request.headers.authorization).slice(7) };
      void turns(5).then(() => {
        const words = { content: [{ type: 'text', text: `${current!.nonce} for ${current!.who}` }] };
        response.end(JSON.stringify({ jsonrpc: '2.0', id: current!.id, result: words }));
      });
    });
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { port: (http.address() as AddressInfo).port, runs: () => 0 };
}
