import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cli, startNode } from './child.ts';
import { firstFew } from '../property-runs.ts';
import { prepare, serve as serveGoverned } from '../served.ts';
import { talkInLines } from './lines.ts';
import { revisions } from './matrix.ts';
import { openPeer } from './peer.ts';
import { legacyPost, modernPost, sendTo } from './web.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

// Without a version, npx on Node 20 takes one that knows no --header.
const inspector = 'npx @modelcontextprotocol/inspector@2.12.0';

async function serve() {
  const child = startNode([cli, 'serve', '--listen', '127.0.0.1:0']);
  const greeting = await child.outputUntil('Ctrl-C');
  return { child, greeting, url: /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(greeting)![0] };
}

test('serve prints its address, the configuration for a client and how to list the tools', async () => {
  const { greeting, url } = await serve();
  expect(greeting).toContain(`serves ping, server_info, get_time at ${url}\n`);
  const entry = JSON.parse(/\{"mcpServers".*\}/.exec(greeting)![0]);
  expect(entry).toEqual({ mcpServers: { toolcrib: { type: 'http', url } } });
  expect(greeting).toContain(`${inspector} --cli ${url} --transport http --method tools/list\n`);
});

test('with sign-in, the printed command to list the tools has a placeholder for the key', async () => {
  const { greeting, url } = await serveGoverned();
  expect(greeting).toContain(
    `--cli ${url} --transport http --method tools/list --header "Authorization: Bearer YOUR-KEY"\n`,
  );
});

test('serve answers at the address it prints, in both eras of the protocol', async () => {
  const { url } = await serve();
  const send = sendTo(url);
  for (const post of [modernPost, legacyPost]) {
    expect(await (await send(post('tools/list'))).json()).toMatchObject({
      result: { tools: [{ name: 'get_time' }, { name: 'ping' }, { name: 'server_info' }] },
    });
    const pong = await send(post('tools/call', { name: 'ping', arguments: { message: 'hello' } }));
    expect(await pong.json()).toMatchObject({
      result: { structuredContent: { status: 'pong', message: 'hello' } },
    });
  }
});

test.each(['SIGINT', 'SIGTERM'] as const)('serve exits cleanly on %s', async (signal) => {
  const { child } = await serve();
  child.process.kill(signal);
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(child.complaints()).toBe('');
});

test('SIGHUP does not stop a server without a configuration file, which logs that it has none', async () => {
  const { child, url } = await serve();
  child.process.kill('SIGHUP');
  await expect
    .poll(() => child.complaints(), { timeout: 10_000 })
    .toContain('There is no configuration file to read again.');
  expect((await sendTo(url)(legacyPost('tools/list'))).status).toBe(200);
  child.process.kill('SIGTERM');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test('a port in use is reported in one line', async () => {
  const taken = createTcpServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const child = startNode([cli, 'serve', '--listen', `127.0.0.1:${port}`]);
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.complaints()).toBe(
    `toolcrib: 127.0.0.1:${port} is in use; choose another port (toolcrib serve --listen 8485).\n`,
  );
});

test.each(
  firstFew(['nowhere', '127.0.0.1:65536', '127.0.0.1:', '127.0.0.1:http', ':::', '127.0.0.1:80:80'], 2),
)('--listen %s is refused with an example of a good value', async (address) => {
  const child = startNode([cli, 'serve', '--listen', address]);
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.complaints()).toBe(
    `toolcrib: --listen takes HOST:PORT or PORT, such as 127.0.0.1:8484, not "${address}".\n`,
  );
});

test('serve refuses to open an unauthenticated server to the network', async () => {
  const child = startNode([cli, 'serve', '--listen', '0.0.0.0:0']);
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.complaints()).toMatch(
    /^toolcrib: --listen 0\.0\.0\.0:0 would open every tool to the network, because there is no auth; add "auth: .*\n$/,
  );
});

test('a port without a host listens on this machine only', async () => {
  const child = startNode([cli, 'serve', '--listen', '0']);
  expect(await child.outputUntil('Ctrl-C')).toMatch(/at http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
});

test.each([[[]], [['--config']]])('check takes the configuration after %j', async (before) => {
  const file = join(prepare({}), 'toolcrib.yaml');
  const child = startNode([cli, 'check', ...before, file]);
  expect(await child.outputUntil('\n')).toContain(file);
  expect(child.complaints()).toBe('');
});

test('check of two configurations at once says that it takes one', async () => {
  const child = startNode([cli, 'check', 'one.yaml', '--config', 'two.yaml']);
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.complaints()).toBe('toolcrib: check takes one configuration: one.yaml or two.yaml.\n');
});

test.each([
  [['chek'], "unknown command 'chek'", 'toolcrib --help for the commands'],
  [['serve', '--port', '80'], '--listen 80', 'toolcrib serve --help for its options'],
  [['serve', '--port', '99999'], '--listen 8484', 'toolcrib serve --help for its options'],
  [['check', '--jsn'], "unknown option '--jsn'", 'toolcrib check --help for its options'],
  [['keys', 'creat'], "unknown command 'creat'", 'toolcrib keys --help for the commands'],
  [['keys', 'create'], "required option '--tenant <id>'", 'toolcrib keys create --help for its options'],
  [['audit', 'tail', 'x'], 'too many arguments', 'toolcrib audit tail --help for its options'],
])('%j points to the help of its command', async (args, problem, help) => {
  const child = startNode([cli, ...args]);
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.complaints()).toContain(problem);
  expect(child.complaints()).toContain(`(run ${help})`);
});

test('--version prints the version of the package', async () => {
  const child = startNode([cli, '--version']);
  expect(await child.outputUntil('\n')).toBe(`${version}\n`);
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test.each([['serv'], ['serve', '--lisen', '8484']])(
  '%s is not a command, and the message points to the help',
  async (...args) => {
    const child = startNode([cli, ...args]);
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.complaints()).toMatch(/toolcrib (?:serve )?--help/);
  },
);

describe.each(firstFew(revisions, 2))('$version:', ({ version: revision, era }) => {
  test('serve --stdio talks over standard input and output until its input ends', async () => {
    const child = startNode([cli, 'serve', '--stdio']);
    const talk = talkInLines(child.process.stdin, child.process.stdout);
    const peer = await openPeer({ ...talk, close: async () => {} }, { version: revision, era });
    expect((await peer.list()).tools).toMatchObject([
      { name: 'get_time' },
      { name: 'ping' },
      { name: 'server_info' },
    ]);
    expect(JSON.parse((await peer.call('server_info')).content[0]!.text)).toMatchObject({
      server: { name: 'toolcrib', version },
      protocol_version: revision,
      tool_count: 3,
    });
    child.process.stdin.end();
    expect(await child.exit).toEqual({ code: 0, signal: null });
    // Every line so far was parsed as a message, so nothing else was on standard output.
    expect(child.complaints()).toBe('');
  });
});
