import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { gzipSync } from 'node:zlib';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine, type Run } from '../behaviour/run-command-line.ts';
import { openCrib } from '../gateway.ts';

const sdkServer = join(import.meta.dirname, 'fixtures/sdk-server.mjs');

interface Place {
  readonly path: (name: string) => string;
  readonly config: () => string;
  readonly servers: () => Record<string, unknown>;
  readonly run: (command: 'add' | 'import' | 'link', ...words: readonly string[]) => Promise<Run>;
}

function placeWith(files: Readonly<Record<string, string>> = {}): Place {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-add-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const path = (name: string): string => join(home, name);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  }
  const config = (): string => readFileSync(path('toolcrib.yaml'), 'utf8');
  return {
    path,
    config,
    servers: () => (parse(config()) as { mcpServers: Record<string, unknown> }).mcpServers,
    run: (command, ...words) =>
      runCommandLine([command, '--config', path('toolcrib.yaml'), ...words], {
        HOME: home,
        XDG_CONFIG_HOME: path('.config'),
      }),
  };
}

describe('toolcrib add', () => {
  test('a command is started, its tools are shown, and it is written with comments kept', async () => {
    const { run, config, servers } = placeWith({ 'toolcrib.yaml': '# ours\nlog: { level: warn } # quiet\n' });
    const added = await run(
      'add',
      '--yes',
      '--name',
      'sdk',
      '--tools',
      'add',
      '--',
      process.execPath,
      sdkServer,
    );
    expect(added).toMatchObject({ code: 0, complaints: '' });
    expect(added.output).toContain('with the rights of Toolcrib');
    expect(added.output).toMatch(/^TOOL +USED +LOOK AT +DOES$/m);
    expect(config().startsWith('# ours\nlog: { level: warn } # quiet\n')).toBe(true);
    expect(servers()).toEqual({ sdk: { command: process.execPath, args: [sdkServer], tools: ['add'] } });
    expect(await run('add', '--yes', '--no-try', '--name', 'sdk', 'https://a.example/mcp')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('already'),
    });
  });

  test('the tools that are shown are those the gateway will serve, also those that ask', async () => {
    const { run } = placeWith();
    const careful = join(import.meta.dirname, 'fixtures/careful-server.mjs');
    const { output } = await run('add', '--yes', '--name', 'careful', '--', process.execPath, careful);
    const shown = [...output.matchAll(/^(\w+) +yes /gm)].map(([, name]) => String(name));
    expect(shown.toSorted()).toEqual(['elicitation', 'look', 'roots', 'sampling']);
    const crib = await openCrib({
      config: { mcpServers: { careful: { command: process.execPath, args: [careful] } } },
    });
    const { tools } = await (await crib.connect('ada')).list();
    expect(tools.map(({ name }) => name)).toEqual(shown.toSorted());
  });

  test('a server that cannot be reached is not added, unless it need not be tried', async () => {
    const { run, path, servers } = placeWith();
    const refused = await run('add', '--yes', '--', process.execPath, '-e', 'process.exit(1)');
    expect(refused.code).not.toBe(0);
    expect(existsSync(path('toolcrib.yaml'))).toBe(false);
    expect(await run('add', '--yes', '--no-try', 'https://mcp.shop.example/mcp')).toMatchObject({ code: 0 });
    expect(servers()).toEqual({ shop: { url: 'https://mcp.shop.example/mcp' } });
  });

  test('a server at a bare address gets a name that says where it is', async () => {
    const { run, servers } = placeWith();
    for (const url of ['http://127.0.0.1:8484/mcp', 'http://localhost:9000/mcp', 'http://10.1.2.3/mcp'])
      expect(await run('add', '--yes', '--no-try', url)).toMatchObject({ code: 0 });
    expect(Object.keys(servers())).toEqual(['local-8484', 'local-9000', '10-1-2-3']);
  });

  test('nothing happens where nobody can be asked', async () => {
    const { run, path } = placeWith();
    expect(await run('add', '--', process.execPath, sdkServer)).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('--yes'),
    });
    expect(await run('add')).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('Say which server'),
    });
    expect(await run('add', 'nope', '--yes')).toMatchObject({ code: 1 });
    expect(existsSync(path('toolcrib.yaml'))).toBe(false);
  });

  test.each([
    [['npx', '-y', '@a/files'], 'files', true],
    [['npx', '-y', '@a/files@1.2.3', '/tmp'], 'files', false],
    [['npx', '-y', '@a/files@latest'], 'files', true],
    [['uvx', 'mcp-server-git==2025.1.1'], 'mcp-server-git', false],
    [['uvx', 'mcp-server-git'], 'mcp-server-git', true],
    [['docker', 'run', '-i', '--rm', 'mcp/time:latest'], 'time', true],
    [['docker', 'run', '-i', '--rm', 'mcp/time@sha256:0123'], 'time', false],
    [['/usr/local/bin/my-server', '--flag'], 'my-server', false],
  ] as const)(
    'C10 %j is called %s, and one without a fixed version is warned about: %s',
    async (words, name, isWarned) => {
      const { run, servers } = placeWith();
      const { code, output } = await run('add', '--yes', '--no-try', '--', ...words);
      expect(code).toBe(0);
      expect(Object.keys(servers())).toEqual([name]);
      expect(output.includes('no fixed version')).toBe(isWarned);
    },
  );

  test('a description of a registry becomes an entry with fixed versions, and its secrets become variables', async () => {
    const input = { description: 'Your key', isRequired: true, isSecret: true };
    const descriptions: Record<string, object> = {
      npm: {
        registryType: 'npm',
        identifier: '@acme/orders',
        version: '1.4.0',
        transport: { type: 'stdio' },
        packageArguments: [
          { type: 'named', name: '--region', value: 'eu' },
          { type: 'positional', valueHint: 'folder', isRequired: true },
        ],
        environmentVariables: [
          { name: 'ORDERS_KEY', ...input },
          { name: 'LEVEL', default: 'info' },
          { name: 'UNUSED' },
        ],
      },
      pypi: { registryType: 'pypi', identifier: 'acme-orders', version: '2.0.1' },
      oci: {
        registryType: 'oci',
        identifier: 'ghcr.io/acme/orders',
        version: '3.1.0',
        environmentVariables: [{ name: 'ORDERS_KEY', ...input }],
      },
    };
    const files = Object.fromEntries(
      Object.entries(descriptions).map(([kind, one]) => [
        `${kind}/server.json`,
        JSON.stringify({
          name: `com.acme/orders-${kind}`,
          description: 'x',
          version: '1.4.0',
          packages: [one],
        }),
      ]),
    );
    const remote = {
      name: 'com.acme/remote',
      description: 'x',
      version: '1.0.0',
      remotes: [
        { type: 'streamable-http', url: 'https://acme.example/mcp', headers: [{ name: 'X-Key', ...input }] },
      ],
    };
    const place = placeWith({ ...files, 'remote/server.json': JSON.stringify({ server: remote }) });
    const outputs: string[] = [];
    for (const kind of [...Object.keys(descriptions), 'remote']) {
      const { code, output } = await place.run('add', '--yes', '--no-try', place.path(`${kind}/server.json`));
      expect(code).toBe(0);
      outputs.push(output);
    }
    expect(place.servers()).toEqual({
      'orders-npm': {
        command: 'npx',
        args: ['-y', '@acme/orders@1.4.0', '--region', 'eu', '${ORDERS_NPM_FOLDER}'],
        env: { ORDERS_KEY: '${ORDERS_KEY}', LEVEL: 'info' },
      },
      'orders-pypi': { command: 'uvx', args: ['acme-orders==2.0.1'] },
      'orders-oci': {
        command: 'docker',
        args: ['run', '-i', '--rm', '-e', 'ORDERS_KEY', 'ghcr.io/acme/orders:3.1.0'],
        env: { ORDERS_KEY: '${ORDERS_KEY}' },
      },
      remote: { url: 'https://acme.example/mcp', headers: { 'X-Key': '${REMOTE_X_KEY}' } },
    });
    expect(outputs[0]).toContain('Set ORDERS_KEY where Toolcrib runs: Your key.');
    expect(outputs.join('')).not.toContain('Warning');
    writeFileSync(place.path('bad.json'), '{"packages": 5}');
    expect(await place.run('add', '--yes', place.path('bad.json'))).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('no server.json'),
    });
  });
});

test('a description is read from an address too, and one that is no description, too large, packed or gone is refused', async () => {
  const remote = { type: 'streamable-http', url: 'https://acme.example/mcp' };
  const answers: Record<string, [status: number, body: string]> = {
    '/server.json': [200, JSON.stringify({ server: { name: 'com.acme/far', remotes: [remote] } })],
    '/gone.json': [404, '{}'],
    '/text.json': [200, 'hello'],
    '/large.json': [200, JSON.stringify({ name: 'x'.repeat(2_000_000) })],
  };
  const packed = gzipSync(answers['/server.json']![1]);
  const web = createServer(({ url = '' }, response) => {
    if (url === '/packed.json') {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
      return;
    }
    const [status, body] = answers[url]!;
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    web.closeAllConnections();
    web.close();
  });
  const base = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  const { run, servers, path } = placeWith();
  for (const file of ['gone', 'text', 'large', 'packed']) {
    const refused = await run('add', '--yes', '--no-try', `${base}/${file}.json`);
    expect([file, refused.code, refused.output]).toEqual([file, 1, '']);
    expect(existsSync(path('toolcrib.yaml'))).toBe(false);
  }
  expect(await run('add', '--yes', '--no-try', `${base}/server.json`)).toMatchObject({ code: 0 });
  expect(servers()).toEqual({ far: { url: 'https://acme.example/mcp' } });
});

describe('toolcrib import', () => {
  const secrets = [
    'ghp_0123456789abcdefghijklmnopqrstuvwxyz',
    'hunter2hunter2',
    'sk-live-51Habcdefghijklmnop',
    'abcd1234efgh5678ijkl9012',
    'p4ssw0rd',
    'QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
  ] as const;
  const files = {
    '.claude.json': JSON.stringify({
      mcpServers: {
        github: {
          type: 'http',
          url: 'https://api.example/mcp',
          headers: { Authorization: `Bearer ${secrets[0]}` },
        },
        shop: {
          command: 'shop',
          args: ['--api-key', secrets[2], '--port=80'],
          env: { SHOP_PASSWORD: secrets[1], LEVEL: 'debug' },
        },
      },
    }),
    '.cursor/mcp.json': `{ // mine
      "mcpServers": { "github": { "url": "https://other.example" },
        "mail": { "url": "https://u:${secrets[4]}@mail.example/mcp", "headers": { "X-Basic": "${secrets[5]}" } },
        "ours": { "command": "x", "env": { "A": "\${env:A}", "B": "${secrets[3]}" } } } }`,
    '.codex/config.toml':
      '[mcp_servers.docs]\nurl = "https://docs.example/mcp"\nbearer_token_env_var = "DOCS_TOKEN"\n',
  };

  test('E4 what other clients have is taken over, and no secret is copied or shown', async () => {
    const { run, config, servers } = placeWith({ ...files, 'toolcrib.yaml': '# mine\n' });
    const { code, output } = await run('import', '--yes');
    expect(code).toBe(0);
    for (const secret of secrets) expect(config() + output).not.toContain(secret);
    expect(servers()).toEqual({
      github: { url: 'https://api.example/mcp', headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' } },
      shop: {
        command: 'shop',
        args: ['--api-key', '${SHOP_API_KEY}', '--port=80'],
        env: { SHOP_PASSWORD: '${SHOP_PASSWORD}', LEVEL: 'debug' },
      },
      mail: { url: '${MAIL_URL}', headers: { 'X-Basic': '${MAIL_X_BASIC}' } },
      ours: { command: 'x', env: { A: '${A}', B: '${B}' } },
      docs: { url: 'https://docs.example/mcp', headers: { Authorization: 'Bearer ${DOCS_TOKEN}' } },
    });
    expect(output).toContain(
      'Set SHOP_PASSWORD where Toolcrib runs: the value of SHOP_PASSWORD in "shop" of ',
    );
    expect(output).toContain('is left out: the name is taken.');
    const again = await run('import', '--yes');
    expect(again).toMatchObject({ code: 0, output: expect.stringContaining('nothing to import') });
  });

  test('only what is named is taken, --print writes nothing, and what Toolcrib wrote itself is left out', async () => {
    const { run, config, servers } = placeWith({ ...files, 'toolcrib.yaml': 'server: { name: crib }\n' });
    await run('link', 'cursor');
    const before = config();
    const { output } = await run('import', '--print');
    expect(output).toContain('mail:');
    expect(output).not.toContain('crib:');
    expect(config()).toBe(before);
    await run('import', 'docs', '--yes');
    expect(Object.keys(servers())).toEqual(['docs']);
    expect(await run('import')).toMatchObject({ code: 1, complaints: expect.stringContaining('--yes') });
  });

  test('a name that no file has is named, and nothing is taken', async () => {
    const { run, path } = placeWith(files);
    const { code, complaints } = await run('import', 'docs', 'dosc', '--yes');
    expect(code).toBe(1);
    expect(complaints).toContain('No file of another client names a server "dosc"');
    expect(existsSync(path('toolcrib.yaml'))).toBe(false);
  });
});
