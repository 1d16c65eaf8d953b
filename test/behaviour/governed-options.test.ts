import { expect, test } from 'vitest';
import { configSchema } from '../../src/gateway/settings/config.ts';
import { keysAt } from '../../src/config/schema-keys.ts';
import { defineTool, type RegistryOptions, type ServerOptions } from '../../src/index.ts';
import { everythingForStaff, openCrib } from '../gateway.ts';

/** Where a configuration sets what the library can be told, or why it does not. */
const places = {
  source: 'left out: the tools of the configuration are the source',
  name: 'server.name',
  version: 'server.version',
  title: 'server.title',
  instructions: 'server.instructions',
  authenticate: 'auth.keys',
  resource: 'server.publicUrl',
  onRefusal: 'stages.audit',
  onUnknown: 'stages.metrics',
  allowedHosts: 'server.allowedHosts',
  allowedOrigins: 'server.allowedOrigins',
  deadlineMs: 'stages.timeout',
  pageSize: 'server.pageSize',
  jsonText: 'server.jsonText',
  maxBodyBytes: 'server.maxBodyBytes',
  requestsPerMinute: 'server.requestsPerMinute',
  publish: 'server.publish',
  delivery: 'server.delivery',
  invalidArguments: 'server.invalidArguments',
  errorCodes: 'server.errorCodes',
  onInvalidOutput: 'server.onInvalidOutput',
  memory: 'store.url',
  log: 'log.level',
  clock: 'left out: a server in use goes by the time of its machine',
  maxNameLength: 'left out: names of up to 128 characters are taken, as the protocol allows',
  annotationDefaults: 'tools.annotationDefaults',
  services: 'left out: what modules share they import',
} satisfies Record<keyof (ServerOptions & RegistryOptions), string>;

test.each(Object.entries(places).filter(([, place]) => !place.startsWith('left out: ')))(
  'the configuration has a setting for the library option %s: %s',
  (_option, place) => {
    const path = place.split('.');
    expect(keysAt(configSchema, path.slice(0, -1))).toContain(path.at(-1));
  },
);

const report = defineTool(
  { name: 'make_report', description: 'Makes a report.', annotations: { readOnlyHint: true } },
  (_args, { publish }) => publish({ name: 'report.txt', data: 'all is well' }),
);

test('a tool of a governed server can return a large result as a link that only its caller can read (004-26)', async () => {
  const crib = await openCrib({
    offers: [report],
    config: { server: { publish: true }, access: [everythingForStaff] },
  });
  const ada = await crib.connect('ada');
  const { content } = await ada.call('make_report');
  const uri = content[0]!['uri'];
  expect(await ada.result('resources/read', { uri })).toMatchObject({ contents: [{ text: 'all is well' }] });
  expect(await (await crib.connect('bob')).error('resources/read', { uri })).toMatchObject({ code: -32602 });
});

test('a governed server follows its settings for compact results and for pages of lists', async () => {
  const size = defineTool({ name: 'size', description: 'Tells a size.' }, () => ({ width: 1 }));
  const crib = await openCrib({
    offers: [report, size],
    config: {
      server: { jsonText: 'compact', pageSize: 1, version: '7.1.0' },
      tools: { modules: ['./tools/*.mjs'], annotationDefaults: 'saas', ready: { server_info: {} } },
      access: [everythingForStaff],
    },
  });
  const ada = await crib.connect('ada');
  expect((await ada.call('size')).content[0]!.text).toBe('{"width":1}');
  const { tools, nextCursor } = await ada.list();
  expect(tools).toHaveLength(1);
  expect(nextCursor).toEqual(expect.any(String));
  const { tools: next } = await ada.list({ cursor: nextCursor });
  expect([...tools, ...next].every(({ annotations }) => annotations !== undefined)).toBe(true);
  expect(JSON.parse((await ada.call('server_info')).content[0]!.text)).toMatchObject({
    server: { version: '7.1.0' },
    configuration: { page_size: 1, delivery: 'direct', timeout_seconds: 30 },
  });
});

test('a governed server with queued delivery answers on the stream of the session (001-60)', async () => {
  const crib = await openCrib({
    offers: [report],
    config: { server: { delivery: 'queued' }, access: [everythingForStaff] },
  });
  const post = (message: object, headers: Record<string, string> = {}) =>
    fetch(crib.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${crib.keys.ada}`,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'browser', version: '1' },
  };
  const opened = await post({ id: 1, method: 'initialize', params });
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  const answer = await post({ id: 2, method: 'tools/list' }, session);
  expect([answer.status, await answer.text()]).toEqual([202, '{"status":"queued"}']);
});
