import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { connect, type Client } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { startNode } from '../behaviour/child.ts';
import { within } from '../within.ts';

const CALLS = 200_000;
const AT_ONCE = 64;
// Far less than what calls leave behind that each leave one small object.
const MAX_GROWTH_BYTES = 2_000_000;
const LONG_MS = 300_000;
const fixture = join(import.meta.dirname, 'fixtures/workbench.mjs');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

test.each(['HTTP', 'stdio'] as const)(
  `over %s, memory does not grow with ${CALLS} calls, some of them abandoned, cancelled or late`,
  async (transport) => {
    const client = await open(transport);
    // One signal for all calls: what listens to it must go with each call.
    const { signal } = new AbortController();
    setMaxListeners(0, signal);
    await callAll(client, CALLS / 10, signal);
    const before = heapBytes();
    await callAll(client, CALLS, signal);
    await within(10_000, 'the last calls to end', untilQuiet(client));
    expect(heapBytes() - before).toBeLessThan(MAX_GROWTH_BYTES);
  },
  LONG_MS,
);

async function open(transport: 'HTTP' | 'stdio'): Promise<Client> {
  const url = transport === 'HTTP' && (await startNode([fixture]).outputUntil('\n')).trim();
  const client = await (url ? connect(url) : connectStdio(process.execPath, [fixture, 'stdio']));
  onTestFinished(() => client.close());
  return client;
}

async function callAll(client: Client, calls: number, signal: AbortSignal): Promise<void> {
  let made = 0;
  const work = async (): Promise<void> => {
    while (made < calls) await callOne(client, made++ % 100, signal);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function callOne(client: Client, turn: number, signal: AbortSignal): Promise<void> {
  switch (turn) {
    case 1: {
      const caller = new AbortController();
      const call = client.callTool('wait', {}, { signal: caller.signal });
      setImmediate(() => caller.abort());
      return fails(call, 'cancelled');
    }
    case 2:
      return fails(client.callTool('wait', {}, { timeoutMs: 5 }), 'timed_out');
    case 3:
      void client.callTool('plain', {}, { signal });
      return;
    default:
      await client.callTool('plain', {}, { signal });
  }
}

// Without `expect`, which keeps what it was given until the test ends.
async function fails(call: Promise<unknown>, code: string): Promise<void> {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if ((error as { code?: string } | undefined)?.code !== code) throw new Error(`The call was not ${code}.`);
}

async function untilQuiet(client: Client): Promise<void> {
  while (client.underWay > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

function heapBytes(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
