import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../gateway/settings/load-config.ts';
import { httpGreeting } from './greeting.ts';

async function firstLineFor(tools: readonly string[], yaml: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-greeting-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, yaml);
  return httpGreeting('http://127.0.0.1:8484/mcp', tools, await loadConfig(file)).split('\n')[0];
}

test('the greeting names the gateway’s own tools, and the servers behind it', async () => {
  const servers = 'mcpServers: { files: { command: node }, off: { command: node, disabled: true } }\n';
  expect(await firstLineFor(['ping'], 'log: {}\n')).toBe('Toolcrib serves ping at http://127.0.0.1:8484/mcp');
  expect(await firstLineFor(['ping'], servers)).toContain(' serves ping, and the tools of files at ');
  expect(await firstLineFor([], servers)).toContain(' serves the tools of files at ');
});
