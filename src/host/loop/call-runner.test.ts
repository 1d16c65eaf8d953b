import { expect, test } from 'vitest';
import { registryAgent, type RegistryAgentOptions } from '../../../test/host/registry-agent.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { scripted } from '../models/scripted.ts';
import { runAgent } from './run-agent.ts';

// Which calls were under way together: each notes how many others it met.
async function meetings(
  names: readonly string[],
  options: RegistryAgentOptions = {},
): Promise<Readonly<Record<string, number>>> {
  const most: Record<string, number> = {};
  let running = 0;
  const tool = (name: string, readOnlyHint: boolean): Tool<never> =>
    defineTool({ name, description: 'Notes whom it meets.', annotations: { readOnlyHint } }, async () => {
      running++;
      for (let turn = 0; turn < 5; turn++) {
        most[name] = Math.max(most[name] ?? 0, running);
        await new Promise(setImmediate);
      }
      running--;
      return name;
    });
  const tools = [...new Set(names)].map((name) => tool(name, name.startsWith('read')));
  const model = scripted([{ toolCalls: names.map((name) => ({ name, arguments: {} })) }, 'Done.']);
  const run = await runAgent(await registryAgent(tools, options), { model, prompt: 'Go.' });
  const results = run.messages.flatMap((message) => (message.role === 'tool' ? [message.name] : []));
  expect(results).toEqual(names);
  return most;
}

test('read-only calls run in parallel, and a writing call runs alone', async () => {
  expect(await meetings(['read_a', 'read_b', 'write', 'read_c'], { server: 'depot' })).toEqual({
    read_a: 2,
    read_b: 2,
    write: 1,
    read_c: 1,
  });
});

test('annotations of an untrusted server do not let calls run in parallel', async () => {
  const options = { server: 'depot', serverConfig: { trust: 'untrusted' } } as const;
  expect(await meetings(['read_a', 'read_b'], options)).toEqual({ read_a: 1, read_b: 1 });
});

test('a server can be set to run all calls in parallel, or none', async () => {
  const all = { server: 'depot', serverConfig: { trust: 'untrusted', parallel: 'all' } } as const;
  expect(await meetings(['write_a', 'write_b'], all)).toEqual({ write_a: 2, write_b: 2 });
  const none = { server: 'depot', serverConfig: { parallel: 'none' } } as const;
  expect(await meetings(['read_a', 'read_b'], none)).toEqual({ read_a: 1, read_b: 1 });
});

test('at most eight calls run at once', async () => {
  const names = Array.from({ length: 20 }, (_each, index) => `read_${index}`);
  expect(Math.max(...Object.values(await meetings(names, { server: 'depot' })))).toBe(8);
});
