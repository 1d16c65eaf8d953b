import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { check } from '../../src/cli/check.ts';
import { defineTool } from '../../src/index.ts';
import { serve } from '../client/peers.ts';

let answering: Server;
let origin: string;
let closedPort: number;

beforeAll(async () => {
  answering = createServer((_request, response) => response.writeHead(404).end('{"keys":[]}'));
  await new Promise<void>((done) => answering.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(answering.address() as AddressInfo).port}`;
  const gone = createServer();
  await new Promise<void>((done) => gone.listen(0, '127.0.0.1', done));
  closedPort = (gone.address() as AddressInfo).port;
  await new Promise((done) => gone.close(done));
});
afterAll(() => answering.close());

async function run(yaml: string, connect = true) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-connect-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const db = new Database(join(folder, 'shop.db'));
  db.exec('create table orders (id integer)');
  db.close();
  writeFileSync(
    join(folder, 'broken.db'),
    'this is no database, and long enough to be looked at as one'.repeat(20),
  );
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, yaml);
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name] += String(text);
      return true;
    }),
  );
  try {
    await check(file, { connect });
    return { ...written, code: process.exitCode, file };
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.exitCode = undefined;
  }
}

test('check --connect accepts what answers, and shows what it is waiting for', async () => {
  const { stdout, stderr, code } = await run(`tools:
  ready:
    query_sql: { url: "sqlite:./shop.db", tables: [orders] }
    fetch_api_data: { hosts: [127.0.0.1], trustedOrigins: ["${origin}"] }
`);
  expect(stdout).toMatch(/is good: 3 tools\.\n$/);
  expect(code).toBeUndefined();
  expect(stderr.split('\n').toSorted()).toEqual([
    '',
    'waiting for tools.ready.fetch_api_data.trustedOrigins[0], 5 seconds at most',
    'waiting for tools.ready.query_sql.url, 5 seconds at most',
  ]);
});

test('check --connect reports each database, issuer and host that does not answer, with its line and without its password', async () => {
  const yaml = `tools:
  ready:
    query_sql:
      - { url: "sqlite:./broken.db", tables: [orders] }
      - { name: query_far, url: "postgres://reader:pa55word@127.0.0.1:${closedPort}/shop", tables: [orders] }
    fetch_api_data: { hosts: [127.0.0.1], trustedOrigins: ["http://127.0.0.1:${closedPort}"] }
auth: { jwt: { issuer: "http://127.0.0.1:${closedPort}", audience: here } }
server: { publicUrl: "http://127.0.0.1:3000" }
access: [{ tools: ["*"] }]
`;
  const { stdout, code, file } = await run(yaml);
  expect(code).toBe(1);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(file.length + 1));
  expect(lines.toSorted()).toEqual([
    expect.stringMatching(/^4:16: tools\.ready\.query_sql\[0\]\.url cannot be reached: The database cannot/),
    expect.stringMatching(
      /^5:33: tools\.ready\.query_sql\[1\]\.url cannot be reached: .*later \(.*ECONNREFUSED/,
    ),
    expect.stringMatching(/^6:60: tools\.ready\.fetch_api_data\.trustedOrigins\[0\] cannot be reached/),
    expect.stringMatching(/^7:24: auth\.jwt\.issuer cannot be reached/),
  ]);
  expect(stdout).not.toContain('pa55word');
  const { stdout: unasked } = await run(yaml, false);
  expect(unasked).toContain('is good');
});

test('check --connect tries other MCP servers too, and reports the line of their entry', async () => {
  const { stdout, stderr, code } = await run(`tools: { ready: {} }
mcpServers:
  gone: { url: "http://127.0.0.1:${closedPort}/mcp" }
  off: { url: "http://127.0.0.1:${closedPort}/mcp", disabled: true }
`);
  expect(stderr).toBe('waiting for mcpServers.gone, 5 seconds at most\n');
  expect(stdout).toMatch(/:3:9: mcpServers\.gone cannot be reached: /);
  expect(stdout).not.toContain('mcpServers.off');
  expect(code).toBe(1);
});

test('check --connect compares the tools that agents name with the tools that servers list', async () => {
  const url = await serve([defineTool({ name: 'search_issues', description: 'Searches.' }, () => 'found')]);
  const { stdout, code } = await run(`tools: { ready: {} }
mcpServers: { github: { url: "${url}" } }
agents:
  support: { mcpServers: [github], tools: [github.search_*, github.search_isues] }
`);
  expect(stdout).toMatch(
    /:4:61: warning: agents\.support\.tools\[1\] matches no tool that github lists; did you mean "github\.search_issues"\?/,
  );
  expect(code).toBeUndefined();
});
