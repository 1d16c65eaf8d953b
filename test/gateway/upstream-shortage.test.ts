import { expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../src/index.ts';
import { Pool } from '../../src/gateway/upstreams/pool.ts';
import { catchNothingLate, fail, fault } from '../behaviour/breaking.ts';
import { everythingForStaff, openCrib } from '../gateway.ts';

catchNothingLate();

// Ends when its tool is called.
const program = `
  const result = (more) => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...more });
  const end = { name: 'end', description: 'Ends the program.', inputSchema: { type: 'object' } };
  const note = { name: 'a', uri: 'note://a' };
  const results = {
    'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, resources: { subscribe: true } } },
    'tools/list': { tools: [end] },
    'resources/list': { resources: [note] },
    'resources/templates/list': { resourceTemplates: [] },
    'resources/read': { contents: [{ uri: note.uri, text: 'content' }] },
  };
  const write = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === 'tools/call') process.exit();
    if (results[method]) write({ id, result: result(results[method]) });
    if (method !== 'subscriptions/listen') return;
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    write({ method: 'notifications/subscriptions/acknowledged', params: { _meta, notifications: params.notifications } });
    if (params.notifications.resourceSubscriptions)
      write({ method: 'notifications/resources/updated', params: { _meta, uri: note.uri } });
  });`;

const UNAVAILABLE = 'one is not answering; try again later.';

/** A gateway in front of a program that was listed and has ended, and a client of it. */
async function openAfterEnd() {
  const crib = await openCrib({
    config: {
      mcpServers: { one: { command: process.execPath, args: ['-e', program] } },
      access: [everythingForStaff],
    },
  });
  const client = await connect(crib.url, { headers: { authorization: `Bearer ${crib.keys.ada}` } });
  onTestFinished(() => client.close());
  const [resource] = await client.listResources();
  const [tool] = await client.listTools();
  const end = (): Promise<string> => client.callTool(tool!.name).text();
  expect(await end()).toBe(UNAVAILABLE);
  return { client, end, uri: String(resource!.uri) };
}

test('a program that cannot be started for want of something of the machine is unavailable for as long as that lasts', async () => {
  const { client, end, uri } = await openAfterEnd();
  vi.stubEnv('TMPDIR', '/nonexistent');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await end()).toBe(UNAVAILABLE);
  vi.unstubAllEnvs();
  await expect
    .poll(() => client.readResource(uri).catch(() => undefined), { timeout: 5_000 })
    .toMatchObject({
      contents: [{ text: 'content' }],
    });
});

test('whatever keeps a followed resource from being followed, the process lives, and it is followed later', async () => {
  const { client, uri } = await openAfterEnd();
  const opening = vi.spyOn(Pool.prototype, 'opening').mockImplementation(async () => fail());
  const heard: string[] = [];
  client.on('resourceUpdated', (update) => heard.push(update.uri));
  await client.subscribe(uri);
  await expect.poll(() => opening.mock.settledResults.some(({ value }) => value === fault)).toBe(true);
  opening.mockRestore();
  await expect.poll(() => heard, { timeout: 10_000 }).toContain(uri);
}, 30_000);
