import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Client } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';
import { cli } from '../behaviour/child.ts';
import { prepare } from '../served.ts';
import {
  canAsk,
  cancel,
  entryOf,
  gatewayCells,
  plainCalls,
  plainIn,
  titleOf,
  type GatewayCell,
} from './gateway-cells.ts';

/** A client that starts the gateway as its program, and what its person was asked. */
async function startFor({ version, tasks, far }: GatewayCell): Promise<{ client: Client; asked: string[] }> {
  const folder = prepare({
    config: {
      auth: undefined as never,
      access: undefined as never,
      mcpServers: { far: { ...(await entryOf(far)), pin: 'off' } },
      stages: { sanitize: { maxBytes: 2_000_000 } },
    },
  });
  const asked: string[] = [];
  const line = [cli, 'serve', '--stdio', '--config', join(folder, 'toolcrib.yaml')];
  const client = await connectStdio(process.execPath, line, {
    protocol: version as never,
    tasks,
    handlers: {
      form: ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { colour: 'red' } };
      },
      sample: () => ({ role: 'assistant', model: 'parrot', content: { type: 'text', text: 'said' } }),
    },
  });
  onTestFinished(() => client.close());
  expect(client.server.protocolVersion).toBe(version);
  return { client, asked };
}

test.each(gatewayCells.map((cell) => [titleOf(cell), cell] as const))(
  '%s that it starts itself',
  { timeout: 60_000 },
  async (_title, cell) => {
    const { client, asked } = await startFor(cell);
    expect(await plainCalls(client)).toEqual(plainIn(cell));
    for (const [tool, answer] of [
      ['fill', 'red'],
      ['fill_twice', 'red, red'],
    ] as const) {
      const result = await client.callTool(tool);
      expect([tool, result.isError]).toEqual([tool, !canAsk(cell)]);
      if (canAsk(cell)) expect(result.text()).toBe(answer);
    }
    expect(asked).toEqual(canAsk(cell) ? Array.from({ length: 3 }, () => 'far: Colour?') : []);
    expect(await client.callTool('ask').text()).toBe('said');
    expect(await client.callTool('job').text()).toBe('worked');
    expect((await client.callTool('fail')).isError).toBe(true);
    expect(await cancel(client)).toBe('cancelled');
  },
);
