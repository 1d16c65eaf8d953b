import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startNode } from '../behaviour/child.ts';

const dist = pathToFileURL(join(import.meta.dirname, '../../dist/gateway.js')).href;
const hooks = `export async function load(url, context, next) {
  process._rawDebug('loads ' + url);
  return next(url, context);
}`;
const program = `import { register } from 'node:module';
register('./hooks.mjs', import.meta.url);
const { createGateway, loadConfig } = await import(${JSON.stringify(dist)});
const gateway = await createGateway(await loadConfig(process.argv[2]), { version: '1', log: () => {} });
await gateway.close(0);
console.log('over');`;

async function loadedFor(agents: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-loading-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = { server: { listen: '127.0.0.1:0' }, store: { url: 'memory:' }, agents };
  writeFileSync(join(folder, 'toolcrib.yaml'), JSON.stringify(config));
  writeFileSync(join(folder, 'hooks.mjs'), hooks);
  writeFileSync(join(folder, 'program.mjs'), program);
  const child = startNode([join(folder, 'program.mjs'), join(folder, 'toolcrib.yaml')]);
  await child.outputUntil('over\n');
  await child.exit;
  return child.complaints();
}

test('a gateway loads no model code before an agent is called, and no agent code when no agent is served', async () => {
  const served = await loadedFor({ support: { model: 'gpt-5.4', serve: true } });
  expect(served).toMatch(/served-agents/);
  expect(served).not.toMatch(/asked-agents|conversation|create-model|openai|anthropic/);
  const unserved = await loadedFor({ support: { model: 'gpt-5.4' } });
  expect(unserved).toContain('gateway.js');
  expect(unserved).not.toMatch(/served-agents|resolve-model|own-agent/);
});
