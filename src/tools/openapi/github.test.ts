import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { ToolRegistry } from '../../core/registry.ts';
import { validatorOf } from '../../schema/validator.ts';
import { createServer } from '../../index.ts';
import { createTestClient, lintTools } from '../../testing.ts';
import { importOpenApi } from '../../tools.ts';
import { openApi, sayJson } from '../../../test/openapi-api.ts';

// An old edition, because each one holds more copies than the one before; the size of its successors is a multiple.
const file = createRequire(import.meta.url).resolve('@octokit/openapi/generated/api.github.com.json');
const github = JSON.parse(readFileSync(file, 'utf8')) as {
  paths: Record<string, Record<string, { operationId: string }>>;
};
const operations = Object.values(github.paths).flatMap((item) =>
  Object.values(item).filter(({ operationId }) => operationId !== undefined),
);

test('a description with over seven hundred operations is imported completely, and every tool can be listed and linted', async () => {
  const { tools, problems } = importOpenApi(github, { otherServers: ['https://uploads.github.com'] });
  expect(operations.length).toBeGreaterThan(700);
  expect(problems).toEqual([]);
  const registry = new ToolRegistry().registerTool(...tools);
  expect(registry.list()).toHaveLength(operations.length);
  const client = createTestClient(createServer({ source: registry, pageSize: 100 }));
  const listed = await client.listTools();
  expect(listed.map(({ name }) => name)).toEqual(registry.list().map(({ name }) => name));
  const { counts } = lintTools(registry.list());
  expect(counts.error).toBe(0);
});

test('D3 an operation on another host is left out until that host is allowed', () => {
  const { problems } = importOpenApi(github);
  expect(problems).toEqual([
    'POST /repos/{owner}/{repo}/releases/{release_id}/assets is left out: it is served from another address; to offer it, add that address to "otherServers".',
  ]);
});

test('the schemas of a large description can check arguments', () => {
  const { tools } = importOpenApi(github);
  // Compiling all of them takes long; these are enough to meet every kind, and the largest is among them.
  const largest = tools.toSorted((a, b) => sizeOf(b) - sizeOf(a))[0]!;
  for (const tool of [largest, ...tools.filter((_, index) => index % 40 === 0)]) {
    const needed = [tool.inputSchema['required'] ?? []].flat();
    const outcome = validatorOf(tool.inputSchema)({});
    expect([tool.name, 'issues' in outcome]).toEqual([tool.name, needed.length > 0]);
    if (tool.outputSchema) expect(validatorOf(tool.outputSchema)({})).toEqual({ value: {} });
  }
});

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

test('an operation of a large description can be called as described', async () => {
  const issue = { id: 1, number: 7, title: 'Broken', user: { login: 'ada' }, unexpected: [1] };
  const api = await openApi((response) => sayJson(response, issue));
  const { tools } = importOpenApi(github, {
    operations: ['issues/get'],
    prefix: 'github_',
    server: api.url,
    trustServer: true,
    credential: { bearer: 'ghp_0123456789' },
    headers: { 'X-GitHub-Api-Version': '2022-11-28' },
  });
  const client = createTestClient(createServer({ source: new ToolRegistry().registerTool(...tools) }));
  const args = { owner: 'ada', repo: 'engine', issue_number: 7 };
  const result = await client.callTool('github_issues_get', args);
  expect(result).toMatchObject({ isError: false, structuredContent: issue });
  expect(api.last()).toMatchObject({
    method: 'GET',
    url: '/repos/ada/engine/issues/7',
    headers: { authorization: 'Bearer ghp_0123456789', 'x-github-api-version': '2022-11-28' },
  });
});
