import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { Client } from '../client.ts';
import { Crib } from '../crib.ts';
import { pause, Random, summarise, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** Every answer reaches the client that asked. */
export const rightClient: Scenario = {
  id: 'A10',
  title: 'every response reaches the client that asked, although all count their calls from 0',
  async run(options) {
    const crib = new Crib();
    try {
      const serving = await crib.start();
      return await ask(options, {
        port: serving.port,
        clients: 200,
        calls: options.counts === 'full' ? 500 : 50,
      });
    } finally {
      await crib.close();
    }
  },
  control: mixedUp,
};

interface Asking {
  readonly port: number;
  readonly clients: number;
  readonly calls: number;
}

async function ask({ seed, report }: RunOptions, { port, clients, calls }: Asking): Promise<Outcome> {
  const random = new Random(seed);
  const wrong: string[] = [];
  let right = 0;
  await Promise.all(
    Array.from({ length: clients }, async (_, who) => {
      const client = new Client({ port, connections: 1 });
      for (let id = 0; id < calls; id++) {
        const nonce = `client-${who}-call-${id}`;
        const answer = await client
          .call('slow', { nonce, ms: random.between(0, 50) }, { id })
          .catch((error: unknown) => ({ text: String(error), id }));
        if (answer.text === nonce && answer.id === id) right++;
        else wrong.push(`${nonce} got ${answer.text}`);
      }
      client.close();
    }),
  );
  report(`${right} of ${clients * calls} answers were the right ones`);
  return {
    counts: `${clients} clients, ${clients * calls} calls`,
    failures: summarise('wrong answers', wrong),
  };
}

// A server that knows its clients only by the ids of their calls, as some have.
async function mixedUp(options: RunOptions): Promise<Outcome> {
  const waiting = new Map<number, ServerResponse>();
  const server = createServer((request, response) => {
    void readText(request).then(async (body) => {
      const { id, params } = JSON.parse(body) as {
        id: number;
        params: { arguments: { nonce: string; ms: number } };
      };
      // An earlier client with the same id is disconnected.
      waiting.get(id)?.end('{}');
      waiting.set(id, response);
      await pause(params.arguments.ms);
      const to = waiting.get(id);
      waiting.delete(id);
      to?.end(
        JSON.stringify({
          jsonrpc: '2.0',
          id,
          result: { content: [{ type: 'text', text: params.arguments.nonce }] },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await ask(options, { port: (server.address() as AddressInfo).port, clients: 20, calls: 5 });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
