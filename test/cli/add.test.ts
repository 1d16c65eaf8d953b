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
import { dirname, join, relative } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine, type Run } from '../behaviour/run-command-line.ts';
import { openCrib } from '../gateway.ts';

const sdkServer = join(import.meta.dirname, 'fixtures/sdk-server.mjs');

type Env = Readonly<Record<string, string>>;

interface Place {
  readonly path: (name: string) => string;
  readonly config: () => string;
  readonly servers: () => Record<string, unknown>;
  readonly run: (command: 'add' | 'import' | 'link', ...words: readonly string[]) => Promise<Run>;
}

function placeWith(files: Readonly<Record<string, string>> = {}, env: Env = {}): Place {
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
        ...env,
      }),
  };
}

describe('toolcrib add', () => {
  test('--print shows what would be written, and starts, asks and writes nothing', async () => {
    const { run, path } = placeWith();
    const program = `require('node:fs').writeFileSync(${JSON.stringify(path('started'))}, '')`;
    const shown = await run(
      'add',
      '--print',
      '--name',
      'sdk',
      '--tools',
      'add',
      '--',
      process.execPath,
      '-e',
      program,
    );
    expect(shown).toMatchObject({ code: 0, complaints: '' });
    expect(shown.output).toMatch(/^ {2}sdk:\n {4}command: /);
    expect(shown.output).toContain('tools:\n      - add\n');
    for (const file of ['started', 'toolcrib.yaml']) expect(existsSync(path(file))).toBe(false);
  });

  test('starts a command, shows its tools, and writes the entry without losing comments', async () => {
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

  test.each(['add', 'import'] as const)('%s says which configuration it cannot read', async (command) => {
    const { run, path, config } = placeWith({ 'toolcrib.yaml': 'a: [' });
    const words = command === 'add' ? ['https://a.example/mcp', '--no-try', '--yes'] : ['--yes'];
    const { code, complaints } = await run(command, ...words);
    expect(code).toBe(1);
    expect(complaints).toContain(
      `${path('toolcrib.yaml')} stays as it is. It is not YAML; correct it first: `,
    );
    expect(complaints).toMatch(/ at line 1, column 5\.\n$/);
    expect(config()).toBe('a: [');
  });

  test('warns of patterns that match none of its tools', async () => {
    const { run } = placeWith();
    const words = ['add', '--yes', '--tools', 'forecast,sub_*', '--', process.execPath, sdkServer] as const;
    const { output } = await run(...words);
    expect(output).toContain('Warning: No tool matches "sub_*" of --tools.\n');
    expect(output).not.toContain('matches "forecast"');
  });

  test('shows exactly the tools that the gateway will serve, also those that ask questions', async () => {
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

  test('does not add a server that cannot be reached, except with --no-try', async () => {
    const { run, path, servers } = placeWith();
    const refused = await run('add', '--yes', '--', process.execPath, '-e', 'process.exit(1)');
    expect(refused.code).not.toBe(0);
    expect(existsSync(path('toolcrib.yaml'))).toBe(false);
    expect(await run('add', '--yes', '--no-try', 'https://mcp.shop.example/mcp')).toMatchObject({ code: 0 });
    expect(servers()).toEqual({ shop: { url: 'https://mcp.shop.example/mcp' } });
  });

  test('a program that is named from the current folder is found by the gateway, too', async () => {
    const { run, servers } = placeWith();
    const here = relative(process.cwd(), sdkServer);
    const words = ['--yes', '--', process.execPath];
    expect(await run('add', '--name', 'a', ...words, `./${here}`, '--flag')).toMatchObject({ code: 0 });
    expect(await run('add', '--name', 'b', ...words, here, 'stdio')).toMatchObject({ code: 0 });
    expect(servers()).toEqual({
      a: { command: process.execPath, args: [sdkServer, '--flag'] },
      b: { command: process.execPath, args: [sdkServer, 'stdio'] },
    });
  });

  test('takes words of a command that no file could be named by', async () => {
    const { run, servers } = placeWith();
    const args = ['-e', `${'x'.repeat(300)}.y`, 'package.json/a.js'];
    const { code } = await run('add', '--name', 'a', '--no-try', '--yes', '--', process.execPath, ...args);
    expect(code).toBe(0);
    expect(servers()).toEqual({ a: { command: process.execPath, args } });
  });

  test('names a server by the host of its URL', async () => {
    const { run, servers } = placeWith();
    for (const url of ['http://127.0.0.1:8484/mcp', 'http://localhost:9000/mcp', 'http://10.1.2.3/mcp'])
      expect(await run('add', '--yes', '--no-try', url)).toMatchObject({ code: 0 });
    expect(Object.keys(servers())).toEqual(['local-8484', 'local-9000', '10-1-2-3']);
  });

  test('changes nothing without a terminal to ask at', async () => {
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
    'C10 %j is named %s, and a command without a fixed version causes a warning: %s',
    async (words, name, isWarned) => {
      const { run, servers } = placeWith();
      const { code, output } = await run('add', '--yes', '--no-try', '--', ...words);
      expect(code).toBe(0);
      expect(Object.keys(servers())).toEqual([name]);
      expect(output.includes('no fixed version')).toBe(isWarned);
    },
  );

  test('makes an entry with fixed versions from a registry description, with variables for its secrets', async () => {
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

describe('a registry description', () => {
  const written = async (
    server: object,
    env: Env = {},
  ): Promise<{ readonly entry: unknown; readonly output: string }> => {
    const place = placeWith({ 'server.json': JSON.stringify({ name: 'com.acme/far', ...server }) }, env);
    const words = ['--yes', '--no-try', '--name', 'far', place.path('server.json')];
    const { code, output, complaints } = await place.run('add', ...words);
    expect([code, complaints]).toEqual([0, '']);
    return { entry: place.servers()['far'], output };
  };

  test('C1 cannot have files or variables read that it does not ask for', async () => {
    const url = 'https://evil.example/${file:/etc/passwd}/{a}{file:/etc/passwd}?${HOME}';
    const variables = { a: { default: '$' } };
    expect((await written({ remotes: [{ type: 'streamable-http', url, variables }] })).entry).toEqual({
      url: 'https://evil.example/$${file:/etc/passwd}/$${file:/etc/passwd}?$${HOME}',
    });
    const one = {
      registryType: 'npm',
      identifier: 'x-${HOME}',
      version: '${file:/etc/passwd}',
      packageArguments: [{ type: 'named', name: '--x=${HOME}', value: 'y' }],
    };
    expect((await written({ packages: [one] })).entry).toEqual({
      command: 'npx',
      args: ['-y', 'x-$${HOME}@$${file:/etc/passwd}', '--x=$${HOME}', 'y'],
    });
    const odd = placeWith({
      'server.json': JSON.stringify({
        name: 'com.acme/far',
        packages: [{ ...one, environmentVariables: [{ name: 'file:/etc/passwd', isRequired: true }] }],
      }),
    });
    expect(await odd.run('add', '--yes', '--no-try', odd.path('server.json'))).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('must be the name of a variable'),
    });
  });

  test('says when a variable that it asks for is set already', async () => {
    const headers = [{ name: 'X-Key', description: 'Your key', isRequired: true, isSecret: true }];
    const server = { remotes: [{ type: 'streamable-http', url: 'https://acme.example/mcp', headers }] };
    expect((await written(server)).output).not.toContain('set here already');
    expect((await written(server, { FAR_X_KEY: 'of something else' })).output).toContain(
      'Set FAR_X_KEY where Toolcrib runs: Your key. It is set here already: what it holds goes to this server.',
    );
  });

  test('has the parts of its address filled in, and a package over standard input is preferred', async () => {
    const remotes = [
      {
        type: 'streamable-http',
        url: 'https://{tenant}.acme.example/{region}/mcp',
        variables: { tenant: { description: 'Your tenant' }, region: { default: 'eu' } },
      },
    ];
    const http = { registryType: 'npm', identifier: 'far', version: '1.0.0', transport: { type: 'sse' } };
    const { entry, output } = await written({ packages: [http], remotes });
    expect(entry).toEqual({ url: 'https://${FAR_TENANT}.acme.example/eu/mcp' });
    expect(output).toContain('Set FAR_TENANT where Toolcrib runs: Your tenant.');
    const local = { ...http, transport: { type: 'stdio' } };
    expect((await written({ packages: [http, local], remotes })).entry).toMatchObject({ command: 'npx' });
  });
});

test.each([
  [['bin/server.js'], 'command is a relative path'],
  [['bash', '-c', 'npx x@1.0.0'], 'command hands a line to a shell'],
] as const)('%j is not added, because the configuration would be refused as a whole', async (words, why) => {
  const { run, path } = placeWith();
  expect(await run('add', '--yes', '--no-try', '--name', 'far', '--', ...words)).toMatchObject({
    code: 1,
    complaints: expect.stringContaining(`"far" cannot be used: ${why}`),
  });
  expect(existsSync(path('toolcrib.yaml'))).toBe(false);
});

test('a description that is not there is reported with what to name', async () => {
  const { run } = placeWith();
  const { code, complaints } = await run('add', '--yes', './nosuch.json');
  expect(code).toBe(1);
  expect(complaints).toBe(
    'toolcrib: There is no file ./nosuch.json; name a server.json, or a server by its address or name.\n',
  );
});

test('a registry description can be read from a URL, and is refused if it is invalid, too large, compressed or missing', async () => {
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

  test('E4 copies the servers of other clients, and copies or shows no secret', async () => {
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

  test('takes only the named servers, skips entries written by Toolcrib, and writes nothing with --print', async () => {
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

  test('keeps the meaning of variables inside of texts, and reads no file that an entry names', async () => {
    const { run, servers } = placeWith({
      '.claude.json': JSON.stringify({
        mcpServers: {
          far: {
            command: 'npx',
            args: [
              '-y',
              'mcp-remote@0.1.2',
              '${API_BASE:-https://far.example}/mcp',
              '--header',
              'X-Auth:${KEY}',
            ],
            env: { AUTH: 'Bearer ${TOKEN}', LEVEL: '${LEVEL:-info}', AT: '${file:/etc/passwd}' },
            cwd: '${env:PLACE}/far',
          },
          near: { url: 'https://near.example/mcp?key=${NEAR_KEY}', headers: { 'X-Key': 'a${NEAR_KEY}' } },
        },
      }),
      '.cursor/mcp.json': JSON.stringify({
        mcpServers: { here: { command: 'x', args: ['${workspaceFolder}/a', '${userHome}/b'] } },
      }),
      '.codex/config.toml':
        '[mcp_servers.docs]\nurl = "https://docs.example/mcp"\nbearer_token_env_var = "file:/etc/passwd"\n',
    });
    const { output } = await run('import', '--yes');
    expect(servers()).toEqual({
      far: {
        command: 'npx',
        args: ['-y', 'mcp-remote@0.1.2', '${API_BASE:-https://far.example}/mcp', '--header', 'X-Auth:${KEY}'],
        env: { AUTH: 'Bearer ${TOKEN}', LEVEL: '${LEVEL:-info}', AT: '$${file:/etc/passwd}' },
        cwd: '${PLACE}/far',
      },
      near: {
        url: 'https://near.example/mcp?key=${NEAR_KEY}',
        headers: { 'X-Key': '${NEAR_X_KEY}' },
      },
      here: { command: 'x', args: ['$${workspaceFolder}/a', '${HOME}/b'] },
      docs: {
        url: 'https://docs.example/mcp',
        headers: { Authorization: 'Bearer $${file:/etc/passwd}' },
      },
    });
    expect(output).toContain('Only the other client knows what ${workspaceFolder} is; replace it.');
  });

  test('takes numbers of tokens for no secrets', async () => {
    const { run, servers } = placeWith({
      '.claude.json': JSON.stringify({
        mcpServers: {
          far: { url: 'https://far.example/mcp?max_tokens=4096&tokenLimit=10' },
          near: { command: 'near', args: ['--max-tokens', '4096'], env: { MAX_TOKENS: '100000' } },
        },
      }),
    });
    await run('import', '--yes');
    expect(servers()).toMatchObject({
      far: { url: 'https://far.example/mcp?max_tokens=4096&tokenLimit=10' },
      near: { args: ['--max-tokens', '4096'], env: { MAX_TOKENS: '100000' } },
    });
  });

  test('E4 copies no secret that stands in for a variable', async () => {
    const { run, config, servers } = placeWith({
      '.claude.json': JSON.stringify({
        mcpServers: {
          shop: {
            command: 'npx',
            args: ['-y', 'shop@1.0.0', '--api-key', '${SHOP:-hunter2-a}', '--token=${SHOP:-hunter2-b}'],
            env: { SHOP_PASSWORD: '${SHOP:-hunter2-c}', LEVEL: '${LEVEL:-info}' },
          },
          mail: {
            url: 'https://mail.example/mcp?key=${MAIL:-hunter2-d}',
            headers: {
              Authorization: 'Bearer ${MAIL:-hunter2-e}',
              'X-Own': '${MAIL:-hunter2-f}',
              Accept: '${KIND:-text/plain}',
            },
          },
        },
      }),
    });
    const { output } = await run('import', '--yes');
    expect(config() + output).not.toContain('hunter2');
    expect(servers()).toEqual({
      shop: {
        command: 'npx',
        args: ['-y', 'shop@1.0.0', '--api-key', '${SHOP}', '--token=${SHOP}'],
        env: { SHOP_PASSWORD: '${SHOP}', LEVEL: '${LEVEL:-info}' },
      },
      mail: {
        url: '${MAIL_URL}',
        headers: { Authorization: 'Bearer ${MAIL}', 'X-Own': '${MAIL}', Accept: '${KIND:-text/plain}' },
      },
    });
  });

  test('leaves out what the configuration would be refused for, and keeps switched off what is', async () => {
    const { run, servers } = placeWith({
      '.claude.json': JSON.stringify({
        mcpServers: {
          shell: { command: 'bash', args: ['-c', 'x'] },
          near: { command: './x' },
          odd: { url: 'nowhere' },
          off: { command: 'x', disabled: true },
          fine: { command: 'x' },
        },
      }),
      '.config/opencode/opencode.json': JSON.stringify({
        mcp: { quiet: { type: 'local', command: ['x'], enabled: false } },
      }),
    });
    const { code, output } = await run('import', '--yes');
    expect(code).toBe(0);
    expect(servers()).toEqual({
      off: { command: 'x', disabled: true },
      fine: { command: 'x' },
      quiet: { command: 'x', disabled: true },
    });
    expect(output).toContain('left out: "shell" cannot be used: command hands a line to a shell');
    expect(output).toContain('left out: "near" cannot be used: command is a relative path');
    expect(output).toContain('left out: "odd" cannot be used: url must be an address');
    await run('add', 'off', '--yes', '--no-try', '--name', 'again');
    expect(servers()['again']).toEqual({ command: 'x' });
  });

  test('keeps paths of a project working, and warns of others', async () => {
    const entry = { command: 'node', args: ['./a.js', '../b.js', '-v', 'c.js'] };
    const mcpServers = {
      far: entry,
      there: { ...entry, cwd: './work' },
      own: { command: './x', cwd: 'work' },
    };
    const { run, servers, path } = placeWith({
      'shop/.mcp.json': JSON.stringify({ mcpServers }),
      '.cursor/mcp.json': JSON.stringify({ mcpServers: { near: entry } }),
    });
    expect(await run('import', '--yes', '--from', path('shop/.mcp.json'))).toMatchObject({ code: 0 });
    expect(servers()).toEqual({
      far: { command: 'node', args: [path('shop/a.js'), path('b.js'), '-v', 'c.js'] },
      there: { ...entry, cwd: path('shop/work') },
      own: { command: path('shop/work/x'), cwd: path('shop/work') },
    });
    const { output } = await run('import', 'near', '--yes');
    expect(output).toContain('Warning: ./a.js is a relative path');
    expect(servers()['near']).toEqual(entry);
    expect(await run('import', '--from', path('nowhere.json'))).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('There is no file'),
    });
  });

  test('reports a name that no file has, and takes nothing', async () => {
    const { run, path } = placeWith(files);
    const { code, complaints } = await run('import', 'docs', 'dosc', '--yes');
    expect(code).toBe(1);
    expect(complaints).toContain('No file of another client names a server "dosc"');
    expect(existsSync(path('toolcrib.yaml'))).toBe(false);
  });
});
