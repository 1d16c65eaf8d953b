import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { memorySkillFiles, SkillsExtension } from '@modelcontextprotocol/server/ext/skills';
import { expect, onTestFinished, test } from 'vitest';
import { openCrib } from '../gateway.ts';

const main = '---\nname: pay\ndescription: Does pay.\n---\nDo it.\n';

test('the official client uses skills of an official server through a gateway', async () => {
  const skills = await SkillsExtension.load(
    memorySkillFiles({ 'pay/SKILL.md': main, 'pay/docs/limits.md': 'At most 50.' }),
    { prefix: 'acme' },
  );
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'official', version: '1.0.0' });
    skills.attach(server);
    return server;
  });
  const handle = toNodeHandler(handler);
  const listening = createServer(
    (request, response) => void handle(request as Parameters<typeof handle>[0], response),
  );
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/mcp`;
  const crib = await openCrib({ open: true, config: { mcpServers: { far: { url } } } });
  const client = new Client({ name: 'official', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(crib.url)));
  onTestFinished(() => client.close());
  const reader = new SkillsClient(client);
  const [entry] = (await reader.list()).skills;
  expect(entry).toMatchObject({ uri: 'skill://far/acme/pay/SKILL.md', frontmatter: { name: 'pay' } });
  expect(await reader.read(entry!)).toMatchObject({ verified: true, text: main });
  expect(await reader.read(entry!, 'docs/limits.md')).toMatchObject({ verified: true, text: 'At most 50.' });
  expect((await reader.readDirectory('skill://far/acme/pay')).resources).toHaveLength(2);
});
