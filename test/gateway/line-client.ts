import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { ClientOptions, Server } from '../../src/index.ts';
import { Client } from '../../src/client/client.ts';
import type { PendingRequest } from '../../src/client/pending-request.ts';
import type { TransportNeeds } from '../../src/client/peer.ts';
import type { Transport } from '../../src/client/transport.ts';
import { LineReader } from '../../src/protocol/wire/line-reader.ts';
import { encodeNotification } from '../../src/protocol/wire/json-rpc.ts';
import { serveStdio } from '../../src/node.ts';
import { ada } from '../behaviour/matrix.ts';

/** Connects to a server in this process, line by line as over stdio, until the test ends. */
export async function connectInProcess(server: Server, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({
    options,
    address: undefined,
    probeMs: undefined,
    transport: (needs) => lineTransport(server, needs),
  });
  await client.open();
  onTestFinished(() => client.close());
  return client;
}

function lineTransport(server: Server, needs: TransportNeeds): Transport {
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveStdio(server, { input, output, caller: ada });
  const lines = new LineReader(
    needs.limits.messageBytes,
    (line) => needs.receiver().receive(line, undefined),
    () => {},
  );
  output.on('data', (chunk: Buffer) => lines.push(chunk));
  const write = (text: string): void => void input.write(`${text}\n`);
  return {
    label: 'in process',
    agree: () => {},
    send: (pending: PendingRequest) => write(pending.outgoing.body),
    post: async (text) => write(text),
    abandon: ({ outgoing: { id } }, reason) =>
      encodeNotification('notifications/cancelled', { requestId: id, reason }),
    close: async () => {
      input.end();
      await served;
    },
  };
}
