import { beforeAll, expect, test } from 'vitest';
import { localCaller } from '../../src/core/caller.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { withStages } from '../../src/core/stage.ts';
import { defineTool } from '../../src/core/tool.ts';
import { createServer, type JsonRpcMessage, type Server } from '../../src/server/create-server.ts';
import { createAccess } from '../../src/stages/authorize.ts';

const SAMPLES = 10_000;
const WARM_UP = 1_500;
const SIGNIFICANT = 4.5;
const ATTEMPTS = 3;
const caller = { ...localCaller };

// Names of one length, so that they differ in nothing but whether there is such a tool.
const hidden = call('secret_tool');
const unknown = call('absent_tool');

let server: Server;

beforeAll(async () => {
  const { byName } = await createAccess([{ tools: ['open_*'] }]);
  const registry = new ToolRegistry();
  for (const name of ['open_tool', 'secret_tool'])
    registry.registerTool(defineTool({ name, description: 'Does something.' }, () => 'done'));
  server = createServer({ source: withStages(registry, [byName]) });
});

test('E5 how long the refusal takes does not tell a hidden tool from one that does not exist', async () => {
  expect(await smallest(() => compare([hidden, unknown]))).toBeLessThan(SIGNIFICANT);
});

test('E5 control: two microseconds more on one side are noticed', async () => {
  const slow = (side: number): void => (side === 0 ? waste(2_000n) : undefined);
  expect(await smallest(() => compare([unknown, unknown], slow))).toBeGreaterThan(SIGNIFICANT);
});

function call(name: string): JsonRpcMessage {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, _meta: meta } };
}

function waste(nanoseconds: bigint): void {
  const until = process.hrtime.bigint() + nanoseconds;
  while (process.hrtime.bigint() < until);
}

/** The smallest difference of a few attempts, since the machine has other things to do; a real one shows in all of them. */
async function smallest(attempt: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let count = 0; count < ATTEMPTS && least >= SIGNIFICANT; count++)
    least = Math.min(least, await attempt());
  return least;
}

/** How significantly the answers to two messages differ in time: the size of Welch's t. */
async function compare(
  messages: readonly JsonRpcMessage[],
  before: (side: number) => void = () => undefined,
): Promise<number> {
  const times: [number[], number[]] = [[], []];
  for (let sample = -WARM_UP; sample < SAMPLES; sample++) {
    // Both are asked in each round, so that a busy moment slows both, and chance decides which goes first.
    const first = Math.random() < 0.5 ? 0 : 1;
    for (const side of [first, 1 - first] as const) {
      const start = process.hrtime.bigint();
      before(side);
      await server.handle(messages[side]!, { caller });
      if (sample >= 0) times[side as 0 | 1].push(Number(process.hrtime.bigint() - start));
    }
  }
  return welch(trim(times[0]), trim(times[1]));
}

// The slowest hundredth is what the collector and other processes took.
function trim(times: readonly number[]): number[] {
  return times.toSorted((a, b) => a - b).slice(0, Math.floor(times.length * 0.99));
}

function welch(a: readonly number[], b: readonly number[]): number {
  const [left, right] = [spread(a), spread(b)];
  return Math.abs(left.mean - right.mean) / Math.sqrt(left.error + right.error);
}

function spread(values: readonly number[]): { readonly mean: number; readonly error: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { mean, error: variance / values.length };
}
