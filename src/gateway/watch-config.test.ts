import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from './settings/load-config.ts';
import { watchConfig } from './watch-config.ts';

test('a changed file is read and applied', async () => {
  const { file, next } = await setUp('server: { name: one }');
  writeFileSync(file, 'server: { name: two }');
  expect(await next()).toBe('two');
});

test('a file that an editor replaces is noticed, again and again', async () => {
  const { file, next } = await setUp('server: { name: one }');
  for (const name of ['two', 'three']) {
    writeFileSync(`${file}~`, `server: { name: ${name} }`);
    renameSync(`${file}~`, file);
    expect(await next()).toBe(name);
  }
});

test('a file with an error is reported, and applied once it is fixed', async () => {
  const { file, next } = await setUp('server: { name: one }');
  writeFileSync(file, 'server: { nam: two }');
  expect(await next()).toContain('server.nam is not a key here; did you mean "name"?');
  writeFileSync(file, 'server: { name: three }');
  expect(await next()).toBe('three');
});

test('a changed secret file counts as a change of the configuration, also one that is named later', async () => {
  const { file, folder, next } = await setUp('server: { name: one }');
  const secret = join(mkdtempSync(join(folder, 'secrets-')), 'name.txt');
  writeFileSync(file, `server: { name: "\${file:${secret}}" }`);
  expect(await next()).toContain('does not exist');
  writeFileSync(secret, 'two');
  expect(await next()).toBe('two');
  writeFileSync(secret, 'three');
  expect(await next()).toBe('three');
});

test.each(['', 'elsewhere/'])(
  'the targets of a linked configuration and a linked secret are watched, in "./%s"',
  async (where) => {
    const folder = mkdtempSync(join(tmpdir(), 'toolcrib-links-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'elsewhere'));
    const path = (name: string): string => join(folder, name);
    const target = (name: string): string => join(folder, where, name);
    writeFileSync(target('real.yaml'), 'server: { name: one }');
    symlinkSync(target('real.yaml'), path('linked.yaml'));
    const { next } = await watching(path('linked.yaml'));
    writeFileSync(target('real.yaml'), 'server: { name: two }');
    expect(await next()).toBe('two');
    writeFileSync(target('real.yaml~'), 'server: { name: three }');
    renameSync(target('real.yaml~'), target('real.yaml'));
    expect(await next()).toBe('three');
    // Linked anew to the same content, the next change is of the new target.
    writeFileSync(target('other.yaml'), 'server: { name: three }');
    symlinkSync(target('other.yaml'), path('linked.yaml~'));
    renameSync(path('linked.yaml~'), path('linked.yaml'));
    await new Promise((resolve) => setTimeout(resolve, 500));
    writeFileSync(target('secret'), 'four');
    symlinkSync(target('secret'), path('linked-secret'));
    writeFileSync(target('other.yaml'), `server: { name: "\${file:${path('linked-secret')}}" }`);
    expect(await next()).toBe('four');
    writeFileSync(target('secret'), 'five');
    expect(await next()).toBe('five');
  },
);

test('a requested reload happens without a change, and after the one before it', async () => {
  const { next, watch } = await setUp('server: { name: one }');
  await watch.reload();
  expect(await next()).toBe('one');
});

test('other files in the folder are ignored, and so is a file that is rewritten unchanged', async () => {
  const { file, folder, seen, next } = await setUp('server: { name: one }');
  writeFileSync(join(folder, 'toolcrib.db'), 'rows');
  writeFileSync(file, 'server: { name: one }');
  writeFileSync(file, 'server: { name: two }');
  expect(await next()).toBe('two');
  expect(seen).toEqual(['two']);
});

test('a configuration that cannot be applied does not stop the watching', async () => {
  const { file, next, logged } = await setUp('server: { name: one }', (name) => {
    if (name === 'two') throw new Error('the port is taken');
  });
  writeFileSync(file, 'server: { name: two }');
  expect(await next()).toBe('two');
  writeFileSync(file, 'server: { name: three }');
  expect(await next()).toBe('three');
  expect(logged).toEqual(['The new configuration could not be applied.']);
});

async function setUp(source: string, use: (name: string) => void = () => {}) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-watch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, source);
  return { file, folder, ...(await watching(file, use)) };
}

async function watching(file: string, use: (name: string) => void = () => {}) {
  const seen: string[] = [];
  const logged: string[] = [];
  let read = 0;
  let wake = (): void => {};
  const say = (what: string): void => {
    seen.push(what);
    wake();
  };
  const { sources } = await readConfig(file, { env: {} });
  const watch = await watchConfig(file, {
    env: {},
    sources,
    onChange: ({ config }) => {
      say(config.server.name);
      use(config.server.name);
    },
    onProblem: ({ message }) => say(message),
    log: (_level, message) => logged.push(message),
  });
  onTestFinished(() => watch.close());
  const next = async (): Promise<string> => {
    while (seen.length <= read) await new Promise<void>((resolve) => (wake = resolve));
    return seen[read++]!;
  };
  return { watch, seen, next, logged };
}
