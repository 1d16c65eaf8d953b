import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { deployment } from './cli-deployment.ts';

describe('commands that only read', () => {
  const guarded = [
    'server: { listen: "0.0.0.0:8484", publicUrl: "${UNSET_URL}" }',
    'auth: { jwt: { issuer: "${UNSET_ISSUER}", audience: a } }',
    'access: [{ tools: ["*"] }]',
    'tools: { ready: { get_weather: { apiKey: "${file:./not-there}" } } }',
  ];
  const open = async (...lines: readonly string[]) => {
    const made = deployment();
    await made.run('tenants', 'create', 'acme');
    await made.run('keys', 'create', '--tenant', 'acme', '--caller', 'ada');
    writeFileSync(join(made.folder, 'toolcrib.yaml'), `${lines.join('\n')}\n`);
    return made;
  };

  test('need only the secrets of the store', async () => {
    const { run } = await open(...guarded);
    for (const [args, said] of [
      [['audit', 'verify'], 'The record is good'],
      [['audit', 'tail'], 'key created'],
      [['audit', 'search'], 'key created'],
      [['audit', 'export', '--operator'], 'key created'],
      [['tenants', 'list'], 'acme'],
      [['keys', 'list'], 'ada'],
      [['approvals', 'list'], 'No call waits'],
    ] as const)
      expect(await run(...args)).toMatchObject({ code: 0, output: expect.stringContaining(said) });
    for (const args of [
      ['tenants', 'disable', 'acme'],
      ['keys', 'create', '--tenant', 'acme', '--caller', 'b'],
    ])
      expect((await run(...args)).complaints).toContain('UNSET_ISSUER, which is not set');
  }, 60_000);

  test.each([
    ['store: { url: "sqlite:./${UNSET_NAME}.db" }', 'UNSET_NAME, which is not set'],
    ['server: { title: &name "sqlite:./${UNSET_NAME}.db" }\nstore: { url: *name }', 'store.url has no value'],
    ['server: { title: "${UNSET_NAME}" }\nstore: { nonsense: 1 }', 'nonsense'],
    ['server: { nonsense: 1 }', 'nonsense'],
  ])(
    'refuse a configuration in which a part they use is incomplete or wrong: %s',
    async (text, said) => {
      const { run } = await open(text);
      expect(await run('keys', 'list')).toMatchObject({ code: 1, complaints: expect.stringContaining(said) });
    },
    60_000,
  );
});

describe('toolcrib tenants and keys', () => {
  test('a tenant can be created, listed, changed, disabled and enabled, and every change is on record', async () => {
    const { run, json, rows } = deployment();
    expect((await run('tenants', 'list')).output).toBe(
      'There are no tenants; make one with: toolcrib tenants create ID\n',
    );
    const made = await run('tenants', 'create', 'acme', '--name', 'Acme', '--data', '{"plan":"pro"}');
    expect(made).toMatchObject({ code: 0, output: expect.stringMatching(/^acme is there\. Make a key: /) });
    const acme = { id: 'acme', name: 'Acme', data: { plan: 'pro' }, disabled: false };
    expect(await json('tenants', 'list')).toEqual([acme]);
    expect(await json('tenants', 'create', 'acme', '--name', 'Acme Ltd')).toEqual({
      ...acme,
      name: 'Acme Ltd',
    });
    expect((await run('tenants', 'disable', 'acme')).output).toBe('acme is disabled.\n');
    expect((await run('tenants', 'list')).output).toBe(
      'TENANT  NAME      STATUS\nacme    Acme Ltd  disabled\n',
    );
    expect((await run('tenants', 'enable', 'acme')).output).toBe('acme is enabled.\n');
    expect(await rows('--operator')).toMatchObject(
      ['tenant created', 'tenant changed', 'tenant disabled', 'tenant enabled'].map((did) => ({
        chain: '@operator',
        kind: 'operator',
        by: expect.any(String),
        did,
        tenant: 'acme',
      })),
    );
    expect((await run('audit', 'verify')).code).toBe(0);
  }, 60_000);

  test('a key is shown once, stored only as a digest, listed without its value, and can be revoked', async () => {
    const { run, json, rows, folder } = deployment();
    await run('tenants', 'create', 'acme');
    const made = await run('keys', 'create', '--tenant', 'acme', '--caller', 'ada', '--role', 'admin');
    const [key = ''] = made.output.split('\n');
    expect(key).toMatch(/^tck_\w{30,}$/);
    expect(made.output).toContain('It is shown this once: keep it now.');
    const other = await json('keys', 'create', '--tenant', 'acme', '--caller', 'bob', '--expires', '90d');
    expect(other).toMatchObject({ key: expect.stringMatching(/^tck_/), caller: 'bob', tenant: 'acme' });
    expect(other).not.toHaveProperty('hash');

    const listed = (await json('keys', 'list')) as { id: string; caller: string }[];
    expect(listed.map(({ caller }) => caller).toSorted()).toEqual(['ada', 'bob']);
    const { id } = listed.find(({ caller }) => caller === 'ada')!;
    expect((await run('keys', 'revoke', id)).output).toBe(`${id} is revoked.\n`);
    expect(await json('keys', 'revoke', id)).toEqual({ id, revoked: true, already: true });
    expect((await run('keys', 'list')).output).toMatch(
      new RegExp(`${id}\\s+acme\\s+ada\\s+admin\\s+-\\s+revoked`),
    );
    expect((await rows('--operator')).map(({ did }) => did)).toEqual([
      'tenant created',
      'key created',
      'key created',
      'key revoked',
    ]);

    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    expect(files.length).toBeGreaterThanOrEqual(4);
    for (const secret of [key, key.slice(4), (other as { key: string }).key.slice(4)])
      for (const text of files) expect(text).not.toContain(secret);
    // What is not secret is found, so the search would have found the key.
    expect(files.some((text) => text.includes(id))).toBe(true);
  }, 60_000);

  test.each([
    [
      ['keys', 'create', '--tenant', 'nobody', '--caller', 'ada'],
      'There is no tenant "nobody"; make it first',
    ],
    [
      ['keys', 'create', '--tenant', 'acme', '--caller', 'ada', '--expires', 'soon'],
      '--expires takes a span',
    ],
    [['keys', 'revoke', 'key_none'], 'There is no key "key_none"; see: toolcrib keys list'],
    [['tenants', 'create', '@operator'], "A tenant's id has up to 64 letters"],
    ...['', ' ', '\u200b\u3164'].map((name): [string[], string] => [
      ['keys', 'create', '--tenant', 'acme', '--caller', name],
      '--caller takes a name with visible characters.',
    ]),
    [
      ['keys', 'create', '--tenant', 'acme', '--caller', 'ada', '--role', 'admin', ''],
      '--role takes a name with visible characters.',
    ],
    [
      ['keys', 'create', '--tenant', 'acme', '--caller', 'ada', '--scope', ''],
      '--scope takes a name with visible characters.',
    ],
    [['tenants', 'create', '.'], "A tenant's id has more than dots in it"],
    [['tenants', 'create', '..'], "A tenant's id has more than dots in it"],
    [['tenants', 'create', 'acme', '--data', '[1]'], '--data takes a JSON object'],
    [['tenants', 'disable', 'nobody'], 'There is no tenant "nobody"; see: toolcrib tenants list'],
    [['audit', 'tail'], 'There is no database'],
    [['audit', 'verify'], 'There is no'],
    [['audit', 'search', '--config', 'none.yaml'], 'There is no none.yaml here; name the configuration'],
  ])('%j prints what is wrong and exits with 1', async (args, complaint) => {
    const { run, folder } = deployment();
    const before = readdirSync(folder).length;
    const { code, output, complaints } = await run(...args);
    expect({ code, output }).toEqual({ code: 1, output: '' });
    expect(complaints).toMatch(/^toolcrib: [^\n]+\n$/);
    expect(complaints).toContain(complaint);
    // Looking at a record makes no files.
    if (args[0] === 'audit') expect(readdirSync(folder)).toHaveLength(before);
  });

  test('listing writes nothing, with or without a database', async () => {
    const { runAlone, folder, call } = deployment();
    const names = readdirSync(folder);
    for (const what of ['keys', 'tenants']) expect((await runAlone([what, 'list'])).code).toBe(0);
    expect(readdirSync(folder)).toEqual(names);
    await call([['acme', 'ada', 'look']]);
    const before = contentsOf(folder);
    for (const what of ['keys', 'tenants']) expect((await runAlone([what, 'list'])).code).toBe(0);
    expect(contentsOf(folder)).toEqual(before);
  }, 60_000);

  test.each([
    ['keys', 'list'],
    ['keys', 'create', '--tenant', 'acme', '--caller', 'ada'],
    ['tenants', 'list'],
    ['tenants', 'create', 'acme'],
    ['serve', '--listen', '127.0.0.1:0'],
    ['audit', 'verify'],
  ])('E4 a database whose secrets are missing is not changed: %s %s', async (...args) => {
    const { run, folder, call, place } = deployment();
    await call([['acme', 'ada', 'look']]);
    rmSync(place('secrets'));
    const before = contentsOf(folder);
    expect(await run(...args)).toEqual({
      code: 1,
      output: '',
      complaints: `toolcrib: There is no ${place('secrets')}; restore the secrets from a backup.\n`,
    });
    expect(contentsOf(folder)).toEqual(before);
  });

  test('a change to a database locked by another program is reported as uncertain, with what to do', async () => {
    const { run, place } = deployment();
    await run('tenants', 'create', 'acme');
    const holder = new SqliteDatabase(place('db'), 'existing');
    onTestFinished(() => holder.close());
    holder.run('begin immediate');
    const { code, complaints } = await run('tenants', 'disable', 'acme');
    holder.run('rollback');
    expect(code).toBe(1);
    expect(complaints).toMatch(/^toolcrib: The store .*List what there is before you try again\.\n$/s);
  }, 60_000);

  test('without the SQLite binary for this platform, a command says in one line what to install', async () => {
    const { runAlone, folder } = deployment();
    const hook = join(folder, 'absent.cjs');
    writeFileSync(
      hook,
      `const { _load: load } = require('node:module');
      require('node:module')._load = (name, ...more) => {
        if (name.startsWith('@libsql/')) throw Object.assign(new Error("Cannot find module '" + name + "'"), { code: 'MODULE_NOT_FOUND' });
        return load(name, ...more);
      };`,
    );
    const env = { NODE_OPTIONS: `--require ${hook}` };
    expect(await runAlone(['tenants', 'create', 'acme'], env)).toEqual({
      code: 1,
      output: '',
      complaints: expect.stringMatching(
        /^toolcrib: The store cannot be opened: SQLite for this platform is not installed.*\n$/,
      ),
    });
  });

  test('with a store in memory, the commands report that there is nothing to manage', async () => {
    const { run } = deployment('store: { url: "memory:" }\n');
    const { code, complaints } = await run('keys', 'list');
    expect(code).toBe(1);
    expect(complaints).toContain('set store.url to "sqlite:./toolcrib.db"');
  });
});

function contentsOf(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'base64')]),
  );
}

test('a key with a role that no rule names is created with a warning', async () => {
  const { run, folder } = deployment();
  const rules = 'access: [{ roles: [admin], tools: ["*"] }]\nauth: { keys: {} }\n';
  writeFileSync(join(folder, 'toolcrib.yaml'), rules);
  await run('tenants', 'create', 'acme');
  const create = (role: string) =>
    run('keys', 'create', '--tenant', 'acme', '--caller', 'ada', '--role', role);
  expect(await create('admn')).toMatchObject({
    code: 0,
    complaints: 'No access rule names the role "admn"; rules name admin.\n',
  });
  expect(await create('admin')).toMatchObject({ code: 0, complaints: '' });
});
