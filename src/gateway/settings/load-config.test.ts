import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { array, assert, asyncProperty, string, stringMatching } from 'fast-check';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import { formatComplaint } from '../../config/complaint.ts';
import { configSchema } from './config.ts';
import { loadConfig, readConfig, type LoadedConfig } from './load-config.ts';

const fixtures = join(import.meta.dirname, 'fixtures');

// Each file holds a configuration above a line of dashes, and the expected messages below.
test.each(readdirSync(fixtures))('the errors about %s name the place and a valid value', async (name) => {
  const [source = '', expected = ''] = readFileSync(join(fixtures, name), 'utf8').split(/^-{10}\n/m);
  const { file, said } = await complaintsAbout(source, envIn(source));
  expect(said.replaceAll(file, 'toolcrib.yaml')).toBe(expected);
});

test('no error repeats a value that came from outside', async () => {
  const source = readFileSync(join(fixtures, 'values-from-outside.yaml'), 'utf8').split(/^-{10}\n/m)[0]!;
  const { said, error } = await complaintsAbout(source, envIn(source));
  expect(said).not.toMatch(/cana|5f2c|ftp:/);
  expect(JSON.stringify(error)).not.toMatch(/cana|5f2c|ftp:/);
  expect(said).toContain('server.drainSeconds must be a number, not text');
});

test('a check message that shares words with a value from outside is replaced by a general one', async () => {
  const source = 'auth: { jwt: { issuer: "${ISSUER}", audience: a } }';
  const { said } = await complaintsAbout(source, { ISSUER: 'not an https URL' });
  expect(said).toContain('auth.jwt.issuer does not accept the value of "${...}" here; check its value.');
  const other = await complaintsAbout(source, { ISSUER: 'ftp://x' });
  expect(other.said).toContain('auth.jwt.issuer must be an https URL');
});

test('the value of a variable is always one scalar, and is never shown', async () => {
  const plain = (await load('')).config;
  const [good, bad] = [join(temporaryFolder(), 'good.yaml'), join(temporaryFolder(), 'bad.yaml')];
  writeFileSync(good, 'server: { title: "${S}" }\n');
  writeFileSync(bad, 'server: { drainSeconds: "${S}", path: "${S}" }\nlog: { level: "x${S}" }\n');
  await assert(
    asyncProperty(string({ minLength: 1, maxLength: 150, unit: 'binary' }), async (secret) => {
      const env = { S: `§${secret}§` };
      const { config } = await loadConfig(good, { env });
      expect(config).toEqual({ ...plain, server: { ...plain.server, title: env.S } });
      const { complaints } = await readConfig(bad, { env });
      expect(complaints).toHaveLength(3);
      expect(JSON.stringify(complaints)).not.toContain('§');
    }),
    { numRuns: propertyRuns(1_000, 40) },
  );
});

test('reading any file ends with a configuration or with error messages', async () => {
  const line = stringMatching(/^[ \t]*[-?&*!|>'"%@`{}[\],:#$a-z0-9 ]{0,30}$/);
  await assert(
    asyncProperty(array(line, { maxLength: 8 }), async (lines) => {
      const { reading } = await complaintsAbout(lines.join('\n'));
      expect(reading.loaded === undefined).toBe(
        reading.complaints.some(({ severity }) => severity === 'error'),
      );
    }),
    { numRuns: propertyRuns() },
  );
});

test('what is said about a file long after it was read has its place, and no value from outside', async () => {
  const file = join(temporaryFolder(), 'toolcrib.yaml');
  writeFileSync(file, 'server:\n  name: plain\n  title: &title "${S}"\n  instructions: *title\n');
  const loaded = await loadConfig(file, { env: { S: 'from outside' } });
  const message = 'is from outside';
  const general = 'does not accept the value of "${...}" here';
  for (const [key, place] of [
    ['name', { line: 2, column: 9, message: 'is ${...}' }],
    ['title', { line: 3, column: 17, message: general }],
    ['instructions', { line: 4, message: general }],
  ] as const)
    expect(loaded.complain(['server', key], { message })).toMatchObject({ path: `server.${key}`, ...place });
});

test('a secret is read from a file beside the configuration, without the line end', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'title.txt'), 'from a file\n');
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, 'server: { title: "${file:title.txt}" }\n');
  const { loaded, sources } = await readConfig(file, { env: {} });
  expect(loaded?.config.server.title).toBe('from a file');
  expect(loaded?.secrets).toEqual(['from a file']);
  expect([...sources.keys()]).toEqual([file, join(folder, 'title.txt')]);
});

test('an inserted value is not expanded again, and a default value is not a secret', async () => {
  const { config, secrets } = await load('server: { name: "${A}", title: "${C:-plain}" }', {
    A: '${B}',
    B: 'inner',
  });
  expect(config.server).toMatchObject({ name: '${B}', title: 'plain' });
  expect(secrets).toEqual(['${B}']);
});

test('a number may come from a variable, and text that looks like a number stays text', async () => {
  const { config } = await load(
    'server: { drainSeconds: "${N}", name: "${N}", maxBodyBytes: "${M:-2048}" }',
    { N: '12' },
  );
  expect(config.server).toMatchObject({ drainSeconds: 12, name: '12', maxBodyBytes: 2048 });
});

test('every key is optional and has a default', async () => {
  const { config } = await load('');
  expect(config).toMatchObject({
    server: {
      name: 'toolcrib',
      listen: { host: '127.0.0.1', port: 8484 },
      path: '/mcp',
      sse: false,
      drainSeconds: 30,
    },
    store: { url: 'sqlite:./toolcrib.db', secrets: './toolcrib.secrets' },
    tools: { modules: [], ready: { ping: {}, server_info: {}, get_time: {} } },
    stages: {
      trace: false,
      timeout: expect.any(Object),
      rateLimit: expect.any(Object),
      audit: expect.any(Object),
    },
    log: { level: 'info' },
  });
  expect(config).not.toHaveProperty('auth');
  expect(config).not.toHaveProperty('access');
});

test('a missing file is an error message, too', async () => {
  await expect(loadConfig('/nowhere/toolcrib.yaml')).rejects.toMatchObject({
    code: 'invalid_config',
    message: '/nowhere/toolcrib.yaml: There is no such file; check the name, or create it.',
  });
});

test('the error has every message, as text and as data', async () => {
  const { file, error } = await complaintsAbout('a: 1\nb: 2\n');
  expect(error?.message.split('\n')).toHaveLength(2);
  expect(error?.data).toMatchObject({
    complaints: [
      { file, line: 1, column: 1, path: 'a' },
      { line: 2, path: 'b' },
    ],
  });
});

test('a key that would change a prototype is refused like any unknown key', async () => {
  const { said } = await complaintsAbout(
    'stages:\n  rateLimit:\n    perTool: { __proto__: { polluted: 1 } }\n',
  );
  expect(said).toContain('__proto__ is not a key here');
  expect(Object.prototype).not.toHaveProperty('polluted');
});

test('nested anchors that would expand to a huge document are refused first', async () => {
  const [bomb = ''] = readFileSync(join(fixtures, 'anchor-bomb.yaml'), 'utf8').split(/^-{10}\n/m);
  // Without the limit each line is ten times the one before.
  const { d } = parse(bomb, { maxAliasCount: -1 }) as { d: unknown[] };
  expect(d.flat(3)).toHaveLength(10_000);
  expect((await complaintsAbout(bomb)).said).toContain('expand to too much');
});

test('without auth a server stays on this machine; with it, it may listen anywhere', async () => {
  const source = 'server: { listen: 0.0.0.0:8484, publicUrl: https://tools.example }\n';
  expect((await complaintsAbout(source)).said).toContain('would open every tool to the network');
  expect((await complaintsAbout(`${source}auth: { keys: {} }\n`)).reading.loaded).toBeDefined();
  for (const host of ['127.0.0.1', 'localhost', '[::1]'])
    expect((await load(`server: { listen: "${host}:1" }`)).config.server.listen.port).toBe(1);
  for (const host of ['127.0.0.1.nip.io', '[::]', 'localhost.example', '0'])
    expect((await complaintsAbout(`server: { listen: "${host}:1" }`)).reading.loaded).toBeUndefined();
});

test('a very large file and a very deep one are refused', async () => {
  expect((await complaintsAbout(`# ${'x'.repeat(1_100_000)}`)).said).toContain('larger than 1048576 bytes');
  expect((await complaintsAbout('['.repeat(20_000))).reading.complaints).toHaveLength(1);
});

test('B4 settings that take a secret are for tools to sign in elsewhere, and none has a default value', () => {
  const settings = settingsIn(z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Shape);
  const secretive = settings.filter(([path]) =>
    /secret|password|token|private|credential|pepper|apiKey/i.test(path),
  );
  const places = new Set(secretive.map(([path]) => path.replace(/(\.credential)\..*/, '$1')));
  // The first one names a file, which is made with random content at the first start.
  expect([...places]).toEqual([
    'store.secrets',
    'tools.openapi.credential',
    'tools.ready.get_weather.apiKey',
    'tools.ready.notion.token',
  ]);
  const withDefault = secretive.filter(([, shape]) => 'default' in shape);
  expect(withDefault.map(([path]) => path)).toEqual(['store.secrets']);
  expect(settings.length).toBeGreaterThan(40);
});

const OUTSIDE = 'https://from-outside.example';

test('B4 the samples in the docs load unchanged, and have no secrets', async () => {
  const docs = join(import.meta.dirname, '../../../docs');
  const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  // Some are for other programs, such as one that collects metrics.
  const isOurs = (sample: string): boolean => /^(?:server|store|tools|auth|access|stages|log):/m.test(sample);
  const samples = pages.flatMap((name) => yamlIn(join(docs, name))).filter(isOurs);
  expect(samples.length).toBeGreaterThan(2);
  for (const sample of samples) {
    // A sample may ask for a secret from outside; it never holds one.
    const asked = [...sample.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']): [string, string] => [
      name,
      OUTSIDE,
    ]);
    const { said, reading } = await complaintsAbout(sample, Object.fromEntries(asked));
    expect({ sample, said: said.replaceAll(/.*warning: .*\n|good\n/g, '') }).toEqual({ sample, said: '' });
    expect(new Set(reading.loaded?.secrets)).toEqual(new Set(asked.map(([, value]) => value)));
  }
});

test('later messages about other parts of the file do not repeat a value from outside either', async () => {
  const source = 'server: { name: "${NAME}" }\naccess: [{ tools: ["*"], when: "${RULE}" }]\n';
  const { complain } = await load(source, { NAME: 'canary-12', RULE: 'canary-1 + 2' });
  expect(complain(['server'], { message: 'is canary-12, not canary-1 + 2' }).message).toBe(
    'is ${...}, not ${...}',
  );
  expect(formatComplaint(complain(['access', 0, 'when'], { message: 'has "nary" in it' }))).toContain(
    ':2:32: access[0].when does not accept the value of "${...}" here; check its value.',
  );
  expect(complain(['access'], { message: 'is empty', remedy: 'add a rule' })).toMatchObject({
    message: 'is empty',
  });
});

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

type Setting = readonly [path: string, shape: Shape];

function settingsIn(shape: Shape, prefix = ''): Setting[] {
  return [
    ...Object.entries(shape.properties ?? {}).flatMap(([key, inner]): Setting[] => [
      [`${prefix}${key}`, inner],
      ...settingsIn(inner, `${prefix}${key}.`),
    ]),
    ...[shape.items ?? {}, ...(shape.anyOf ?? [])].flatMap((inner) =>
      inner === shape ? [] : below(inner, prefix),
    ),
  ];
}

function below(shape: Shape, prefix: string): Setting[] {
  return Object.keys(shape).length === 0 ? [] : settingsIn(shape, prefix);
}

function yamlIn(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => text);
}

function envIn(source: string): Record<string, string> {
  const line = /^# env: (.*)$/m.exec(source)?.[1] ?? '';
  return Object.fromEntries(
    line
      .split(', ')
      .filter(Boolean)
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const scratch = join(mkdtempSync(join(tmpdir(), 'toolcrib-config-')), 'toolcrib.yaml');

afterAll(() => rmSync(dirname(scratch), { recursive: true, force: true }));

async function complaintsAbout(source: string, env: Record<string, string> = {}) {
  writeFileSync(scratch, source);
  const reading = await readConfig(scratch, { env });
  const error = await loadConfig(scratch, { env }).then(
    () => undefined,
    (thrown: unknown) => thrown as Error & { data: unknown },
  );
  const lines = [...reading.complaints.map(formatComplaint), ...(reading.loaded ? ['good'] : [])];
  return { file: scratch, reading, error, said: lines.map((line) => `${line}\n`).join('') };
}

async function load(source: string, env: Record<string, string> = {}): Promise<LoadedConfig> {
  writeFileSync(scratch, source);
  return loadConfig(scratch, { env });
}
