import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Naming } from '../../src/core/tool-names.ts';
import { loadConfig, type ConfigInput } from '../../src/gateway.ts';
import { defineTool, ToolRegistry } from '../../src/index.ts';
import { serve } from '../client/peers.ts';
import { openCrib } from '../gateway.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const RELOADS = 20;
const work = defineTool({ name: 'work', description: 'Works.' }, () => 'worked');

test('no memory is kept of configurations that were replaced while their servers were in use', async () => {
  const entries = { web: { url: await serve([work]) }, other: { url: await serve([work]) } };
  const configOf = (round: number): ConfigInput => ({
    mcpServers: entries,
    server: { instructions: `Round ${round}.` },
    stages: { rateLimit: false },
  });
  const crib = await openCrib({ config: configOf(0) });
  const [ada, cyn] = [await crib.connect('ada'), await crib.connect('cyn')];
  const use = async (): Promise<void> => {
    for (const peer of [ada, cyn]) {
      await peer.list();
      for (const name of ['web__work', 'other__work'])
        expect((await peer.call(name)).content[0]!.text).toBe('worked');
    }
  };
  await use();
  const count = (kind: Function): number => queryObjects(kind, { format: 'count' });
  const before = { registries: count(ToolRegistry), names: count(Naming) };
  const replaced: WeakRef<object>[] = [];
  for (let round = 1; round <= RELOADS; round++) {
    crib.configure(configOf(round));
    const loaded = await loadConfig(crib.path('toolcrib.yaml'));
    replaced.push(new WeakRef(loaded));
    // With calls under way, which end where they began.
    await Promise.all([use(), crib.gateway.reload(loaded)]);
  }
  const kept = (): number => {
    collect();
    return replaced.filter((one) => one.deref()).length;
  };
  await expect.poll(kept, { timeout: 20_000, interval: 500 }).toBeLessThanOrEqual(2);
  expect(count(ToolRegistry)).toBeLessThanOrEqual(before.registries + 2);
  expect(count(Naming)).toBeLessThanOrEqual(before.names * 3);
  // Collecting takes long in a process that many tests share.
}, 60_000);
